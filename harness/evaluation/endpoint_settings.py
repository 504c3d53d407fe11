"""What settings say of an endpoint and its prices: checked by whoever starts a run, without what sends requests."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.api import ModelProvider
from harness.config import PROJECT
from harness.errors import ConfigError
from harness.evaluation.plugin_factory import make_plugin
from harness.llm import providers
from harness.llm.endpoint import Endpoint
from harness.llm.prices import Price, read_prices
from harness.settings.fields import Tree
from harness.settings.models import JudgeSettings, LlmSettings, ModelSettings

if TYPE_CHECKING:
    import yaml

_MOST_NODES = 100_000


def check_keys(llm: LlmSettings, judge: JudgeSettings) -> None:
    """As `check_key`, of both."""
    check_key(llm, "llm")
    check_key(judge, "judge")


def check_key(settings: LlmSettings | JudgeSettings, group: str) -> None:
    """See that a model has a key where its provider needs one.

    Args:
        group: `llm` or `judge`, for the message.
    Raises:
        ConfigError: It has none.
    """
    if settings.kind not in ("none", "scripted") and settings.model:
        endpoint_of_settings(settings, group, None, None).check_key()


def endpoint_of_settings(settings: ModelSettings, name: str, base_url: str | None, client: Any) -> Endpoint:
    """`base_url` takes the place of the configured one."""
    url = base_url or settings.base_url
    if not url and settings.kind != "azure":  # whose resource nobody can know
        url = providers.provider_of(provider_name(settings)).default_url
    return Endpoint(replace(settings, base_url=url), group=name, http_client=client)


def provider_name(settings: ModelSettings) -> str:
    """The provider that the settings choose, known from then on.

    Raises:
        ConfigError: A class of the person's own cannot be made, or has another provider's name.
    """
    if isinstance(settings, LlmSettings) and settings._target_ is not None:
        made = make_plugin("llm", settings, ModelProvider)
        providers.add(made, f"llm._target_={settings._target_}")
        return made.name
    return settings.api


def load_prices(settings: ModelSettings, name: str = "llm") -> dict[str, Price]:
    """The price table the person owns; `name`: of the group of settings."""
    path = Path(settings.prices or PROJECT / "configs" / "prices.yaml")
    return read_prices(read_yaml(path, f"{name}.prices"), str(path))


def read_yaml(path: Path, setting: str) -> Tree:
    """The mapping in a file.

    Raises:
        ConfigError: It cannot be read, holds something else, or unfolds to what no such file is.
    """
    import yaml  # as OmegaConf, which a worker does without
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        text = path.read_text("utf-8")
        # Before it is built: a few lines of aliases may stand for more than any memory holds.
        if (node := yaml.compose(text, yaml.SafeLoader)) is not None and _unfolded(node, {}) > _MOST_NODES:
            raise ConfigError(f"{setting}: {path} expands to more than {_MOST_NODES:,} values through its aliases (*)")
        if not isinstance(node, yaml.MappingNode | None):
            raise ConfigError(f"{setting}: {path} must contain one mapping")
        tree = OmegaConf.to_container(OmegaConf.create(text))
    except OSError as error:
        raise ConfigError(f"{setting}: {path} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, OmegaConfBaseException, ValueError, RecursionError) as error:
        raise ConfigError(f"{setting}: {path} is not valid YAML: {' '.join(str(error).split())[:300]}") from error
    if not isinstance(tree, dict):
        raise ConfigError(f"{setting}: {path} must contain one mapping")
    return {str(key): value for key, value in tree.items()}


def _unfolded(node: "yaml.Node", sizes: dict[int, int]) -> int:
    """Values in the tree that a node and its aliases become; of one that is within itself, more than any."""
    if (known := sizes.get(id(node))) is not None:
        return known
    sizes[id(node)] = _MOST_NODES + 1
    inner = [] if isinstance(node.value, str) else node.value
    ones = [one for pair in inner for one in (pair if isinstance(pair, tuple) else (pair,))]
    sizes[id(node)] = 1 + sum(_unfolded(one, sizes) for one in ones)
    return sizes[id(node)]
