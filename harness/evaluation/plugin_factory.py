"""Makes objects of classes that the settings name (`_target_`); the only module that does.

The settings come from the person who starts the run: command line, files, installed packages. Settings read from a run
folder never come here (`config.recorded_config`).
"""

from collections.abc import Callable, Mapping, Sequence
from inspect import iscoroutinefunction, signature
from types import MappingProxyType
from typing import Any, TypeVar

from harness.errors import ConfigError, HarnessError, error_line, plugin_boundary
from harness.settings.plugin import PluginSettings

T = TypeVar("T")
_NOTHING: Mapping[str, Any] = MappingProxyType({})


def as_plugin(entry: Mapping[str, Any]) -> PluginSettings:
    return PluginSettings(
        _target_=str(entry["_target_"]), arguments={key: value for key, value in entry.items() if key != "_target_"}
    )


def make_plugin(
    place: str, plugin: PluginSettings, protocol: type[T], offered: Mapping[str, Any] = _NOTHING, **given: Any
) -> T:
    """An object of the class named at `place`.

    Args:
        offered: Arguments for constructors that name them.
        given: Arguments for every constructor.
    """
    factory = plugin_factory(place, plugin, protocol, given=tuple(given), offered=tuple(offered))
    made_by: Any = getattr(factory, "func", None)

    def failed(error: BaseException) -> ConfigError:
        return ConfigError(f"{place}._target_={plugin._target_} cannot be made: {error_line(error)}")

    with plugin_boundary(failed, passes=(HarnessError,)):
        named = signature(made_by).parameters.keys() & offered.keys()
        made = factory(**given, **{name: offered[name] for name in named - plugin.arguments.keys()})
    if not isinstance(made, protocol):  # attributes that only an object has
        raise ConfigError(f"{place}._target_={plugin._target_} lacks members of harness.api.{protocol.__name__}")
    return made


def plugin_factory(
    place: str,
    plugin: PluginSettings,
    protocol: type[Any],
    *,
    given: Sequence[str] = (),
    offered: Sequence[str] = (),
) -> Callable[..., Any]:
    """What makes the object, checked as far as it can be without making one."""
    from hydra.errors import InstantiationException  # hydra takes longer to import than a worker without plug-ins needs
    from hydra.utils import instantiate

    named = f"{place}._target_={plugin._target_}"
    # A name such as `_recursive_` would be taken by hydra.
    if hidden := [key for key in plugin.arguments if not key.isidentifier() or key.startswith("_")]:
        raise ConfigError(f"{place}.arguments: {hidden[0]} cannot be the name of an argument")

    def failed(error: BaseException) -> ConfigError:
        return ConfigError(f"{named} cannot be imported: {error_line(error)}")

    try:
        # Hydra finds the class and calls nothing yet: arguments and methods are looked at first. A nested `_target_` is
        # data.
        with plugin_boundary(failed, passes=(InstantiationException,)):
            factory = instantiate(
                {"_target_": plugin._target_, **plugin.arguments}, _partial_=True, _recursive_=False, _convert_="all"
            )
    except InstantiationException as error:
        raise ConfigError(f"{named} cannot be imported: {_why_not_imported(str(plugin._target_), error)}") from error
    made_by = getattr(factory, "func", None)
    if not isinstance(made_by, type):
        raise ConfigError(f"{named} is not a class; give the dotted path of one, my_package.module.Class")
    for name, method in vars(protocol).items():
        if name.startswith("_") or not callable(method):
            continue
        theirs = getattr(made_by, name, None)
        if not callable(theirs):
            raise ConfigError(f"{named} has no method {name}, which harness.api.{protocol.__name__} needs")
        if (is_async := iscoroutinefunction(method)) != iscoroutinefunction(theirs):
            raise ConfigError(f"{named}: its method {name} must be {'`async def`' if is_async else 'a plain `def`'}")
    try:
        takes = signature(made_by)
        wanted = takes.parameters.keys() & set(offered) - plugin.arguments.keys()
        takes.bind(**plugin.arguments, **dict.fromkeys((*given, *wanted)))
    except TypeError as error:
        also = f"; it is given {', '.join(given)}, too" if given else ""
        raise ConfigError(
            f"{place}.arguments do not fit the constructor of {plugin._target_}: {error}{also}"
        ) from error
    return factory  # type: ignore[no-any-return]


def _why_not_imported(target: str, error: Exception) -> str:
    """In Python's words, of what the module raised; hydra says of most errors that the module is not installed."""
    if (found := error.__cause__) is None:
        return "it is not a class; give module.Class"
    cause = found.__cause__ or found  # hydra wraps what a module raises
    module = target.rpartition(".")[0]
    if isinstance(cause, ModuleNotFoundError):
        if module and cause.name == target:  # hydra takes a missing attribute for a module
            return f"{module} has no class {target.rpartition('.')[2]}; give module.Class"
        return f"{cause}; give module.Class of an installed package, or of a file in a folder of PYTHONPATH"
    return error_line(cause)
