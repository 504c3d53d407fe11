"""`executor=ray`: the workers of a run on the nodes of a Ray cluster."""

from harness.api.processes import machine_capacity
from harness.api.rescoring import Invocation
from harness.api.running import (
    PLAYER,
    Progress,
    RunContext,
    Scheduler,
    Workers,
    number_of_workers,
    serving,
    size_of,
    supervised,
)
from harness.plugins.clusters.ray_cluster import RayClusterSpec, on_cluster


async def play_on_ray(context: RunContext, schedule: Scheduler, progress: Progress) -> Invocation:
    executor, size = context.config.executor, None
    if executor.address is None:
        size = size_of(context, schedule, (machine_capacity(),))  # of a cluster of our own, as large as we ask
    own = number_of_workers(size, schedule) if size else None
    cluster = RayClusterSpec(address=executor.address, workers=own, cpus=executor.cpus)
    async with serving(context, schedule) as where:
        with on_cluster(cluster, PLAYER, context.run.path, silence_s=executor.silence_s) as joined:
            size = size or size_of(context, schedule, joined.nodes)
            return await supervised(context, schedule, progress, where, workers=Workers(joined.launch, size))
