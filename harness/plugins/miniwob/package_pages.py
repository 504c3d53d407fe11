"""What the PyPI package `miniwob` ships: pages, and which of them it registers as environments. Nothing of it is
imported.
"""

import ast
from importlib.util import find_spec
from pathlib import Path

from harness.api.files import safe_files
from harness.errors import ConfigError, UnsafeFile

_PREFIX, _SUFFIX = "miniwob/", "-v1"


def html_folder() -> Path:
    """Its folder of pages and scripts.

    Raises:
        ConfigError: The package is not installed.
    """
    spec = find_spec("miniwob")
    for place in (spec and spec.submodule_search_locations) or ():
        if (folder := Path(place) / "html").is_dir():
            return folder
    raise ConfigError("the package miniwob is not installed; run pip install 'cairn-harness[miniwob]'")


def names() -> tuple[str, ...]:
    """Names of all pages, such as `click-button`, in alphabetical order, without the flight sites, which need mouse and
    typing on whole sites.
    """
    return tuple(sorted(path.stem for path in (html_folder() / "miniwob").glob("*.html")))


def registered() -> dict[str, bool]:
    """The pages that the package has an environment for, and whether it marks this as nondeterministic.

    Raises:
        ConfigError: The package does not say.
    """
    file = html_folder().parent / "registration.py"
    try:
        tree = ast.parse(safe_files.read_named(file))
        calls = [one for one in ast.walk(tree) if isinstance(one, ast.Call) and ast.unparse(one.func) == "register"]
        given = [{one.arg: ast.literal_eval(one.value) for one in call.keywords} for call in calls]
        marks = {
            one["id"].removeprefix(_PREFIX).removesuffix(_SUFFIX): bool(one.get("nondeterministic")) for one in given
        }
    except (OSError, UnsafeFile, SyntaxError, ValueError, KeyError, AttributeError) as error:
        raise ConfigError(
            f"{file}: cannot be read as the list of miniwob's environments ({error}); set task.split=all"
        ) from error
    return {name: marks[name] for name in names() if name in marks}
