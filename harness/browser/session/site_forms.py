"""Forms of sites that plug-ins fill in before an episode begins. They follow from the task and the seed, both of which
the journal holds; without a key of a task that asks for them there are none.
"""

from harness.actions.truncate import cut
from harness.api import SiteForm
from harness.browser.session.benchmark_page import SessionPage
from harness.browser.session.browser_session import BrowserSession
from harness.browser.session.in_doubt import SiteFacts
from harness.browser.session.page_scripts import made_for
from harness.errors import PluginFailed
from harness.records import Opened, Task
from harness.registry import Registry

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


async def fill_in(
    window: BrowserSession, task: Task, opened: Opened | None, *, sites: SiteFacts, goes_on: bool
) -> None:
    """Send the forms of a task whose sites were reset before it.

    Args:
        window: Logged in, and without a page.
        goes_on: The attempt began earlier: on a site that was not reset since, its forms were sent then.
    Raises:
        PluginFailed: A form cannot be sent, or a plug-in does not say which.
        SiteUnavailable: Its page cannot be opened.
    """
    forms: list[SiteForm] = made_for(task, opened, SITE_FORMS, "forms")
    for form in forms:
        # Only a reset undoes it, as a clean-up by further forms can fail half-way.
        if not sites.was_reset(form.url):
            if goes_on:
                continue
            raise PluginFailed(
                f"what is written into {cut(form.url, _SHOWN)} could not be undone, as its site is not reset before the"
                " task (sites.X.reset_url or reset_command)"
            )
        page = SessionPage(window, opened)
        async with page.tab(form.url) as tab:
            real = {name: window.lane.addresses.to_real_text(value) for name, value in form.fields.items()}
            wrong = await tab.evaluate(_SEND, {"form": form.form, "fields": real})
        if wrong:
            raise PluginFailed(f"the form {form.form!r:.80} of {cut(form.url, _SHOWN)} cannot be sent: {wrong}")
