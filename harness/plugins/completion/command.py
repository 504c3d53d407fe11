"""`harness completion`: prints a script that lets the shell complete commands, options, choices and settings.

The script is generated from the argument parser; for commands that take settings it also contains the groups of
`configs/` and their choices.
"""

import argparse
import shlex
import sys
from collections.abc import Iterator, Mapping

from harness.errors import ExitCode

HELP = "print a shell completion script for harness"
EXAMPLE = 'eval "$(harness completion bash)"    # in ~/.bashrc; for zsh in ~/.zshrc, after compinit'

# shtab makes such scripts of a parser, but knows no word with an `=` in it: `llm=op` would complete to nothing.
BASH = """\
_harness() {{
  local line="${{COMP_LINE:0:COMP_POINT}}" current words="" prefix
  current="${{line##* }}"  # the word as it was typed: bash cuts words at '='
  if [[ $COMP_CWORD -eq 1 ]]; then
    words={commands}
  else
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
  fi
  COMPREPLY=()
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$words" -- "$current")
  if [[ $current == *=* ]]; then
    prefix="${{current%"${{current##*=}}"}}"
    COMPREPLY=("${{COMPREPLY[@]#"$prefix"}}")
  fi
}}
complete -o default -F _harness harness
"""

ZSH = """\
_harness() {{
  local -a commands words_
  commands=({described})
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case "$words[2]" in
{cases}
  esac
  compadd -- $words_
  _files
}}
compdef _harness harness
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh"), help="which shell")


def run(options: argparse.Namespace) -> int:
    commands = dict(_commands(options.parser))
    make = _bash if options.shell == "bash" else _zsh
    sys.stdout.write(make(commands))
    return ExitCode.DONE


def _bash(commands: Mapping[str, tuple[str, list[str]]]) -> str:
    cases = "\n".join(f"      {name}) words={shlex.quote(' '.join(words))} ;;" for name, (_, words) in commands.items())
    return BASH.format(commands=shlex.quote(" ".join([*commands, "--help"])), cases=cases)


def _zsh(commands: Mapping[str, tuple[str, list[str]]]) -> str:
    described = " ".join(shlex.quote(f"{name}:{said}") for name, (said, _) in commands.items())
    cases = "\n".join(f"    {name}) words_=({shlex.join(words)}) ;;" for name, (_, words) in commands.items())
    return ZSH.format(described=described, cases=cases)


def _commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, tuple[str, list[str]]]]:
    """Command to what it does and the words that may follow it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            said = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, command in action.choices.items():
                words = [*_words(command), *(_settings() if name == "run" or _takes_settings(command) else ())]
                yield name, (said.get(name, ""), words)


def _words(command: argparse.ArgumentParser) -> Iterator[str]:
    for action in command._actions:
        yield from action.option_strings
        yield from map(str, action.choices or ())


def _takes_settings(command: argparse.ArgumentParser) -> bool:
    """Not so `--judge KEY=VALUE`, which is followed by those of a judge only."""
    return any(action.metavar == "KEY=VALUE" and not action.option_strings for action in command._actions)


def _settings() -> Iterator[str]:
    from harness.api.configuration import PROJECT

    for group in sorted(path for path in (PROJECT / "configs").glob("*") if path.is_dir()):
        yield from (f"{group.name}={path.stem}" for path in sorted(group.glob("*.yaml")))
