"""`sites=from:FILE`: the sites of a file that another program writes, as `harness sites up` does.

The file holds what a file of `configs/sites` may hold, `defaults` included, as JSON or YAML. What comes of it is in the
recorded settings of the run as of any other choice; the file itself is only read when a command starts.
"""

import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from harness.errors import ConfigError

_FROM = re.compile(r"\+?sites=from:(.*)", re.DOTALL)


def choose_files(arguments: Sequence[str]) -> tuple[str, ...]:
    """The arguments with each file as a choice that hydra knows.

    Raises:
        ConfigError: A file cannot be read, or holds no settings of sites.
    """
    return tuple(_chosen(found[1]) if (found := _FROM.fullmatch(one)) else one for one in arguments)


def _chosen(file: str) -> str:
    from hydra.core.config_store import ConfigStore  # readers of runs do without hydra
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    place = f"sites=from:{file[:300]}"
    if not file.strip():
        raise ConfigError("sites=from: names no file; give the sites.json that `harness sites up` wrote")
    try:
        text = Path(file).read_text("utf-8")
        tree = OmegaConf.to_container(OmegaConf.create(text), resolve=False)
    except OSError as error:
        why = (error.strerror or "").lower()
        raise ConfigError(f"{place}: it cannot be read: {why}; `harness sites up` writes it") from error
    except (YAMLError, OmegaConfBaseException, ValueError, RecursionError) as error:
        raise ConfigError(f"{place}: it is not valid JSON or YAML: {' '.join(str(error).split())[:300]}") from error
    if not isinstance(tree, dict) or not any(isinstance(one, dict) and one.get("url") for one in tree.values()):
        raise ConfigError(f"{place}: no site in it has an address; bring the sites up with `harness sites up`")
    # By its content: hydra has one store for the process, in which two files of one name would be one.
    name = f"from_{sha256(text.encode()).hexdigest()[:12]}"
    ConfigStore.instance().store(group="sites", name=name, node=tree, provider=place)
    return f"sites={name}"
