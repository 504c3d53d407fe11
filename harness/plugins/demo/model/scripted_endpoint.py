"""The scripted endpoint as runs know it: where its server is, and what it can be given."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from harness.plugins.demo.model.fault_injection import read_faults
from harness.plugins.demo.model.scripts import SECRETS_VARIABLE, plan_entries, read_plans


class ScriptedEndpoint:
    """`llm=scripted`: an `EmbeddedEndpoint`."""

    module = "harness.plugins.demo.model.model_server"
    secrets_variable = SECRETS_VARIABLE

    def plan_entries(self, plans: Path, /) -> list[Any]:
        return plan_entries(plans)

    def check(
        self,
        plans: Path,
        faults: Any,
        intents: Mapping[str, str],
        /,
        *,
        placeholders: Mapping[str, str],
        reveal: Callable[[bytes], bytes],
    ) -> None:
        read_plans(plans, intents, placeholders=placeholders, reveal=reveal)
        read_faults(faults)
