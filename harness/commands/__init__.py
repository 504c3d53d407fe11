"""The subcommands of `harness`, a module each: what it takes, and what it does; exit codes are `ExitCode`.

A module has `HELP` (one sentence), `EXAMPLE` (one command line), `arguments(parser)` and `run(options) -> int`. Its
imports at the top are light, so that `harness --help` is quick.
"""
