"""A Ray cluster of two nodes on this machine, for a test to break: `python two_nodes.py` prints its address.

Each node has room for one worker; the head has none. A line on standard input kills the node whose raylet has that
process id, without a chance to say goodbye; the end of standard input ends the cluster.
"""

import json
import os
import sys
from tempfile import TemporaryDirectory


def main() -> None:
    with TemporaryDirectory(prefix="cairn-ray-", dir="/tmp", ignore_cleanup_errors=True) as temp:
        os.environ["RAY_TMPDIR"] = temp  # read by the import
        from ray.cluster_utils import Cluster

        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        nodes = {
            node.all_processes["raylet"][0].process.pid: node for node in (cluster.add_node(num_cpus=1) for _ in "12")
        }
        say(json.dumps({"address": cluster.address, "raylets": list(nodes)}))
        for line in sys.stdin:
            cluster.remove_node(nodes[int(line)], allow_graceful=False)
            say("killed")
        cluster.shutdown()


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
