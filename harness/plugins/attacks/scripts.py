"""What plants an attack, as `cairn.page_scripts` and `cairn.site_forms` ask for it."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from harness.api import PageScript, SiteForm, Task, dumps
from harness.plugins.attacks.planted import attack_of, choice_of

_LIFT = """() => {
    for (const undo of (window[Symbol.for("cairn.planted")] ?? []).splice(0).reverse()) undo();
}"""


def page_scripts(task: Task, seed: int) -> Sequence[PageScript]:
    """What plants the attack of a task.

    Raises:
        TaskError: The attack cannot be understood.
    """
    attack = attack_of(task)
    if attack is None or attack.form is not None:
        return ()
    chosen = choice_of(attack, task.task_id, seed)
    spec = {
        "kind": attack.kind,
        "place": chosen.place,
        "text": attack.text,
        "link": attack.link,
        "url": attack.goal.url,
        "last": task.start_urls[-1],
    }
    source = f"(sites, addresses) => ({_plant()})({dumps(spec).decode()}, sites, addresses)"
    return (PageScript(source=source, from_step=chosen.step, lift=_LIFT),)


def site_forms(task: Task, seed: int) -> Sequence[SiteForm]:
    """What plants the attack of a task in the site.

    Raises:
        TaskError: The attack cannot be understood.
    """
    attack = attack_of(task)
    return () if attack is None or attack.form is None else (attack.form,)


@cache
def _plant() -> str:
    text = files("harness.plugins.attacks").joinpath("plant.js").read_text(encoding="utf-8")
    return text.partition("\n")[2].strip()
