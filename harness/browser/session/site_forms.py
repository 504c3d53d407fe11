"""Forms of sites that plug-ins fill in before an episode begins. They follow from the task and the seed, both of which
the journal holds; without a key of a task that asks for them there are none.
"""

from collections.abc import Callable, Sequence

from harness.actions.truncate import cut
from harness.api import SiteForm
from harness.browser.session.benchmark_page import SessionPage
from harness.browser.session.browser_session import BrowserSession
from harness.browser.session.in_doubt import SiteFacts
from harness.errors import HarnessError, PluginFailed, plugin_boundary
from harness.records import Opened, Task
from harness.registry import Registry
from harness.settings.browser import BrowserSettings

SITE_FORMS = Registry(group="cairn.site_forms", noun="key of a task")
"""Key of a task to a function of the task and the seed of the attempt, which gives a sequence of `SiteForm`. It is
asked for tasks that have the key."""
_SHOWN = 200
_SEND = """async (asked) => {
    const form = document.querySelector(asked.form);
    if (!(form instanceof HTMLFormElement)) return "there is no such form, or not for who is not logged in";
    const data = new FormData(form);
    for (const [name, value] of Object.entries(asked.fields)) {
        if (!form.elements.namedItem(name)) return `the form has no field ${name}`;
        data.set(name, value);
    }
    const target = new URL(form.getAttribute("action") || location.href, location.href);
    if (target.origin !== location.origin) return "the form is sent to another site";
    const answer = await fetch(target, {method: "POST", body: new URLSearchParams(data)});
    return answer.ok ? "" : `the site answered with status ${answer.status}`;
}"""


async def fill_in(  # noqa: PLR0913 (what a page of a plug-in needs)
    window: BrowserSession,
    task: Task,
    opened: Opened | None,
    *,
    settings: BrowserSettings,
    sites: SiteFacts,
    goes_on: bool,
) -> None:
    """Send the forms of a task whose sites were reset before it.

    Args:
        window: Logged in, and without a page.
        task: The task.
        opened: The attempt.
        settings: How long pages may take.
        sites: What is known of them.
        goes_on: The attempt began earlier: on a site that was not reset since, its forms were sent then.
    Raises:
        PluginFailed: A form cannot be sent, or a plug-in does not say which.
        SiteUnavailable: Its page cannot be opened.
    """
    for form in _forms(task, 0 if opened is None else opened.seed):
        # Only a reset undoes it, as a clean-up by further forms can fail half-way.
        if not sites.was_reset(form.url):
            if goes_on:
                continue
            raise PluginFailed(
                f"what is written into {cut(form.url, _SHOWN)} could not be undone, as its site is not reset before the"
                " task (sites.X.reset_url or reset_command)"
            )
        page = SessionPage(window, settings, opened)
        async with page.tab(form.url) as tab:
            real = {name: window.lane.addresses.to_real_text(value) for name, value in form.fields.items()}
            wrong = await tab.evaluate(_SEND, {"form": form.form, "fields": real})
        if wrong:
            raise PluginFailed(f"the form {form.form!r:.80} of {cut(form.url, _SHOWN)} cannot be sent: {wrong}")


def _forms(task: Task, seed: int) -> list[SiteForm]:
    found: list[SiteForm] = []
    for key in SITE_FORMS.names():
        if key in task.metadata:
            make: Callable[[Task, int], Sequence[SiteForm]] = SITE_FORMS.find(key)
            with plugin_boundary(_failure(key), passes=(HarnessError,)):
                found += make(task, seed)
    return found


def _failure(key: str) -> Callable[[Exception], PluginFailed]:
    def failed(error: Exception) -> PluginFailed:
        said = cut(" ".join(str(error).split()), _SHOWN)
        return PluginFailed(f"cannot make the forms of a task's {key}: {type(error).__name__}: {said}")

    return failed
