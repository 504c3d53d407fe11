"""What hydra and OmegaConf raise about settings, as one sentence with the fix.

Their messages are several lines in the words of their own code (`Key 'limt' not in 'TaskSettings'`). An error that
is not known here keeps their words.
"""

import re
from collections.abc import Callable
from pathlib import Path

import yaml
from hydra.errors import MissingConfigException, OverrideParseException

from harness.actions.truncate import cut
from harness.config.near_names import misspelt, nearest
from harness.config.override_keys import SAYS_MORE, mapping_names, setting_names
from harness.config.plugin_packages import PluginSearchPath, plugin_folders

_NOISE = ("full_key", "object_type", "reference_type", "To append to your config", "See https://")
_MOST_CHARS = 600
_TYPES = {"Integer": "a whole number", "Float": "a number", "Boolean": "true or false", "bool": "true or false"}


def sentence(error: Exception) -> str:
    """The message for the person who wrote the setting."""
    if isinstance(error, RecursionError):
        return "the settings are nested too deeply; remove levels"
    if isinstance(error, OverrideParseException):
        return _unreadable(error)
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        place = f"{error.problem_mark.name}, line {error.problem_mark.line + 1}"
        return f"{place}: this is not valid YAML ({cut(str(error.problem), 200)}); correct the file"
    if isinstance(error, UnicodeDecodeError):
        return f"{_not_utf8()}: is not UTF-8; save it as UTF-8"
    text = _text(error)
    for pattern, explain in _KNOWN:
        if (found := pattern.search(text)) is not None:
            return cut(found.expand(explain) if isinstance(explain, str) else explain(found, error), _MOST_CHARS)
    return f"{cut(text, _MOST_CHARS)}; {SAYS_MORE}"


def _text(error: Exception) -> str:
    """Their lines without what only a developer of theirs needs, and the cause."""
    lines = [line.strip() for line in str(error).partition("Config search path")[0].splitlines()]
    kept = [line for line in lines if line and not line.startswith(_NOISE)]
    cause = str(error.__cause__ or "").splitlines()
    if cause and cause[0] not in kept:
        kept.append(cause[0])
    return " ".join(kept).replace("++fail_under_of.", "fail_under.")  # as the person wrote it


def _unreadable(error: OverrideParseException) -> str:
    override = cut(error.override, 200)
    key, equals, value = error.override.partition("=")
    if not equals:
        return f"{override!r} is not a setting with a value; settings are written KEY=VALUE; {SAYS_MORE}"
    if not re.fullmatch(r"[~+]*[\w.@/-]+", key, re.ASCII):
        return f"{cut(key, 200)!r} in {override!r} is not the name of a setting; {SAYS_MORE}"
    quoted = cut(value.strip("\"'"), 100).replace('"', "'")
    bare = re.sub(r"\"[^\"]*\"|'[^']*'", "", value)
    if strange := "".join(dict.fromkeys(one for one in bare if not one.isascii())):
        return (
            f"the value of {override!r} has letters beyond ASCII ({cut(strange, 40)}); quote it: '{key}=\"{quoted}\"'"
        )
    return (
        f"the value of {override!r} cannot be read; close its brackets, or quote a text that has brackets, commas,"
        f" quotation marks or blanks: '{key}=\"{quoted}\"'"
    )


def _own_folders() -> list[Path]:
    """Where configurations are that Cairn does not ship."""
    return [one for one in (PluginSearchPath.config_dir, *plugin_folders().values()) if one is not None]


def _not_utf8() -> str:
    """The file that is not; the error does not name it."""
    for folder in _own_folders():
        for path in sorted(folder.rglob("*.yaml")):
            try:
                path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                return str(path)
            except OSError:
                continue
    return "a file of the settings"


def _is_own_group(name: str) -> bool:
    """Whether it is a folder that Cairn does not have, as `experiment`, which users of hydra know."""
    return any((folder / name).is_dir() for folder in _own_folders())


def _with_plus(group: str) -> str:
    return f"{group} is a folder of further configurations; choose a file of it with a plus: +{group}=NAME"


def _unknown_key(found: re.Match[str], _: Exception) -> str:
    name, free = found[1], mapping_names()
    if _is_own_group(name):
        return _with_plus(name)
    if name in free:
        return f"the keys of {name} are new ones; add it with a plus: '+{name}={{…}}'"
    if not any(name.startswith(f"{one}.") for one in free):
        return f"{misspelt(name, setting_names())}; {SAYS_MORE}"
    return f"{name} does not exist yet{_near_site_key(name)}; correct its name, or add it with a plus: +{name}=…"


def _near_site_key(name: str) -> str:
    from harness.config.site_settings import keys_below  # which imports `near_names`, too

    parent, _, key = name.rpartition(".")
    keys = keys_below(parent)
    near = nearest(key, keys) if keys and key not in keys else None
    return f"; did you mean {parent}.{near}" if near else ""


def _unknown_choice(found: re.Match[str], error: Exception) -> str:
    group, _, choice = found[1].rpartition("/")
    options = list(error.options or ()) if isinstance(error, MissingConfigException) else []
    if not options:
        return f"{group or 'config'}={choice} is unknown; {SAYS_MORE}"
    near = nearest(choice, options)
    return f"{group}={choice} is unknown{f'; did you mean {near}' if near else ''}; choose one of {', '.join(options)}"


def _unknown_default(found: re.Match[str], _: Exception) -> str:
    file, name = found.groups()
    choice = name.rpartition("/")[2]
    return f"{file}.yaml: its defaults name {choice}, and there is no file {name}.yaml; correct the name"


def _no_choice(found: re.Match[str], _: Exception) -> str:
    given = {"NoneType": "null", "int": "a number", "float": "a number", "bool": "true or false"}.get(found[1], "none")
    return f"a group of settings (task, agent, llm, judge, …) takes a name, as in judge=none, and was given {given}"


def _wrong_type(found: re.Match[str], _: Exception) -> str:
    override, _value, kind = found.groups()
    return f"{override} is not {_TYPES.get(kind, f'of type {kind}')}"


def _wrong_word(found: re.Match[str], _: Exception) -> str:
    words = re.findall(r"\w+", found[2])
    return f"{found[1]} is unknown; choose one of {', '.join(words)}"


def _not_a_mapping(found: re.Match[str], _: Exception) -> str:
    key = found[1].partition("=")[0]
    if _is_own_group(key):
        return _with_plus(key)
    return f"{found[1]} is one value, and the setting takes a mapping; give its keys, as in +{key}.KEY=VALUE"


def _not_a_group(found: re.Match[str], _: Exception) -> str:
    key = found[1].partition("=")[0].lstrip("+")
    inner = [name for name in setting_names() if name.startswith(f"{key}.")]
    return f"{key} is a group of settings, and takes no value of its own; give one of {', '.join(inner)}"


def _not_given(found: re.Match[str], error: Exception) -> str:
    name = str(getattr(error, "full_key", None) or found[1])
    if name.startswith("hydra."):  # the name of the folder, which holds the setting
        name = found[1]
    group, _, key = name.partition(".")
    # The file may be one of the person's own that is empty, or have been left out by `~llm`.
    by_whom = f", neither in a file {group}/NAME.yaml that {group}=NAME chooses nor here" if key.isidentifier() else ""
    return f"{name} is not set{by_whom}; give it, as in {name}=…"


def _unknown_in_file(found: re.Match[str], error: Exception) -> str:
    return f"{found[1]}.yaml: {misspelt(_key_of(error), setting_names())}; {SAYS_MORE}"


def _wrong_type_in_file(found: re.Match[str], error: Exception) -> str:
    file, value, kind = found.groups()
    return f"{file}.yaml: {_key_of(error)}: {value} is not {_TYPES.get(kind, f'of type {kind}')}; correct it"


def _not_a_list_in_file(found: re.Match[str], error: Exception) -> str:
    return f"{found[1]}.yaml: {_key_of(error)}: is not a list; write its entries one a line, each after a dash"


def _wrong_in_file(found: re.Match[str], error: Exception) -> str:
    return f"{found[1]}.yaml: {_key_of(error)}: {found[2]}; correct it"


def _key_of(error: Exception) -> str:
    """The setting that an error is about, which stands among what else it says for developers."""
    found = re.search(r"^\s*full_key: (\S+)", str(error), re.MULTILINE)
    return found[1] if found else "a setting"


def _missing_variable(found: re.Match[str], error: Exception) -> str:
    key = getattr(error, "full_key", None) or getattr(error.__cause__, "full_key", None)
    if str(key).startswith("hydra."):  # the name of the folder, which holds the setting that needs it
        key = None
    return f"the environment variable {found[1]} is not set{f', which {key} needs' if key else ''}; set it"


def _exists(found: re.Match[str], _: Exception) -> str:
    name = found[1]
    if name == "evaluators":  # a group that only packages and folders of one's own have files of
        return (
            "+evaluators=NAME needs a file evaluators/NAME.yaml, and there is none; install the package that has it, or"
            " name the folder above with --config-dir"
        )
    return f"{name} exists already; write {name}=… without a plus"


_IN_FILE = r"In '([^']+)': ValidationError raised while composing config: "
# In a sentence, what the groups of its pattern have found takes the place of \1, \2, ….
_KNOWN: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str], Exception], str]], ...] = (
    (re.compile(r"Could not override '([^']+)'"), _unknown_key),
    (re.compile(r"Could not find '([^']+)'"), _unknown_choice),
    (re.compile(r"In '([^']+)': Could not (?:find|load) '([^']+)'"), _unknown_default),
    (re.compile(r"Config group override must be a string or a list\. Got (\w+)"), _no_choice),
    (re.compile(r"In '([^']+)': ConfigKeyError raised while composing config: Key '[^']*' not in"), _unknown_in_file),
    (re.compile(rf"{_IN_FILE}Value '(.*?)' of type '\w+' could not be converted to (\w+)"), _wrong_type_in_file),
    (re.compile(rf"{_IN_FILE}Value '(.*?)' is not a valid (\w+)"), _wrong_type_in_file),
    (re.compile(rf"{_IN_FILE}Invalid value assigned: \w+ is not a ListConfig"), _not_a_list_in_file),
    (re.compile(rf"{_IN_FILE}(.*)"), _wrong_in_file),
    (re.compile(r"has missing mandatory value: (\w+)"), _not_given),
    (re.compile(r"merging override (.+?) Value '(.*?)' of type '\w+' could not be converted to (\w+)"), _wrong_type),
    (re.compile(r"merging override (.+?) Value '(.*?)' is not a valid (\w+)"), _wrong_type),
    (re.compile(r"merging override (.+?) Invalid value .*?, expected one of \[(.*?)\]"), _wrong_word),
    (
        re.compile(r"merging override (.+?) Cannot convert '(\w+)' to string"),
        r"\1 is a \2, and the setting takes one text",
    ),
    (
        re.compile(r"merging override (([^=]+)=(.*?)) Invalid value assigned: \w+ is not a ListConfig"),
        r"\1 is one value, and the setting takes a list; write \2=[\3]",
    ),
    (re.compile(r"merging override (.+?) Cannot assign \w+ to Dict\["), _not_a_mapping),
    (
        re.compile(r"merging override (.+?) field '[^']+' is not Optional"),
        r"\1 cannot be used; give a value, or leave the setting out for its default",
    ),
    (re.compile(r"merging override (.+?) Invalid type assigned: \w+ is not a subclass of"), _not_a_group),
    (
        re.compile(r"Additional config directory '(.+?)' not found"),
        r"--config-dir: \1 is not a folder; give the folder of your own configurations",
    ),
    (
        re.compile(r"Interpolation key '([^']+)' not found"),
        r"${\1} refers to a setting that does not exist; correct its name, or quote the text with \\${",
    ),
    (
        re.compile(r"Unsupported interpolation type (\S+)"),
        r"${\1:…} in a setting is unknown; write ${oc.env:VARIABLE} or ${package:NAME,FILE}, or quote the text with"
        r" \\${",
    ),
    (
        re.compile(r"Error resolving interpolation '\$\{(?:\w+:)?(?:\$\{)?([\w.]+)"),
        r"a setting that others refer to (${\1}) is not set, or was removed with ~; give it a value",
    ),
    (re.compile(r"Missing mandatory value: (\S+)"), _not_given),
    (re.compile(r"Environment variable '([^']+)' not found"), _missing_variable),
    (
        re.compile(r"Ambiguous value for argument '(([^=]+)=(.+?))' 1\. "),
        r"""\1 has a comma; write \2=[\3] for a list, '\2="\3"' for a text, or add -m to run once for each value""",
    ),
    (re.compile(r"An item is already at '([^']+)'"), _exists),
    (
        re.compile(r"Could not delete from config\. (?:The value of )?'([^']+)'"),
        r"\1 cannot be removed: ~ removes only what a file or a plus has added",
    ),
)
