"""The pages of the site of one's own: small, with one way each to change the site.

What a click does, and when: a form at once, `fetch` beside the page, a timer later, a beacon on leaving, a link by GET,
a page that sends something as it loads, a draft that is saved some time after it was typed.
The page of votes has a banner that comes and goes with the visit, so that neither positions nor the number of elements
stay.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from urllib.parse import quote

VOTES = 8
_BANNERS = ("", "", "", "text", "two", "three", "last first")
"""What a visit to the votes finds above them; most often nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """Who looks at a page."""

    task: str
    number: int
    """1-based, of this task at this place."""
    seed: int
    has_basket: bool = False


def render(page: str, visit: Visit) -> str:
    """The page's HTML.

    Raises:
        KeyError: There is no such page.
    """
    title, body = _PAGES[page]
    return (
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>{title}</title>"
        f"<script>{_SCRIPT}</script></head><body><h1>{title}</h1>{body(visit)}<p id=said></p></body></html>"
    )


_SCRIPT = """
const act = (task, label, value = "") => fetch(
  `/${task}/do?label=${encodeURIComponent(label)}&value=${encodeURIComponent(value)}`, { method: "POST" });
const say = (text) => { document.getElementById("said").textContent = text; };
"""


def _path(visit: Visit, label: str, more: str = "") -> str:
    return f"/{visit.task}/do?label={quote(label)}{more}"


def _form(visit: Visit, label: str, next_page: str, more: str = "") -> str:
    """A button that is sent as a form, and leads on."""
    action = escape(_path(visit, label, f"&next={next_page}{more}"))
    return f'<form method=post action="{action}"><button>{label}</button></form>'


def _saving(task: str, field: str) -> str:
    """A script that sends what stands in the field of this id as an effect of its own name."""
    value = f"document.getElementById('{field}').value"
    return f"act('{task}', 'Save {field}', {value}).then(() => say('Saved'))"


def _button(label: str, script: str) -> str:
    return f'<p><button onclick="{escape(script)}">{label}</button></p>'


def _sending(visit: Visit, label: str) -> str:
    """A button whose effect is sent beside the page."""
    return _button(label, f"act('{visit.task}', '{label}').then(() => say('{label}: noted'))")


def _on(visit: Visit, page: str = "rest") -> str:
    return f'<p><a href="/{visit.task}/{page}">Continue</a></p>'


def _order(visit: Visit) -> str:
    return "<p>One lamp, to be sent to the harbour.</p>" + _form(visit, "Place order", "done")


def _desk(visit: Visit) -> str:
    task = visit.task
    colours = "".join(f"<option>{colour}</option>" for colour in ("White", "Green", "Blue"))
    return (
        _form(visit, "Place order", "desk")
        + "<p><label>Note <input id=note></label></p>"
        + _button("Save note", _saving(task, "note"))
        + f"<p><label>Colour <select id=colour>{colours}</select></label></p>"
        + _button("Save colour", _saving(task, "colour"))
        + _button("Preview", "say('This is what it looks like')")
    )  # fmt: skip


def _note(visit: Visit) -> str:
    action = escape(_path(visit, "Note", "&next=done"))
    return f'<form method=post action="{action}"><label>Note <input name=value></label></form>'


def _votes(visit: Visit) -> str:
    chance = random.Random(f"{visit.seed} {visit.task} {visit.number}")
    banner = chance.choice(_BANNERS)
    buttons = [_sending(visit, f"Vote {number}") for number in range(1, VOTES + 1)]
    if banner == "last first":
        buttons.reverse()
    offers = {"two": 2, "three": 3}.get(banner, 0)
    above = "<p>Only today: everything is cheaper.</p>" if banner in ("text", "three") else ""
    above += "".join(_sending(visit, f"Offer {number}") for number in range(1, offers + 1))
    return above + "".join(buttons) + _on(visit)


def _later(delay_ms: int) -> Callable[[Visit], str]:
    def body(visit: Visit) -> str:
        label = f"Send in {delay_ms} ms"
        script = f"setTimeout(() => act('{visit.task}', '{label}'), {delay_ms}); say('Thank you')"
        shown = _button("Show more", "say('More')") + _button("Show less", "say('Less')")
        return _button(label, script) + shown + _on(visit)

    return body


def _beacon(visit: Visit) -> str:
    left = f"addEventListener('pagehide', () => navigator.sendBeacon('{_path(visit, 'Leave')}'))"
    return f'<script>{left}</script><p><a href="/{visit.task}/rest">Leave</a></p>'


def _links(visit: Visit) -> str:
    subscribe, download = _path(visit, "Subscribe", "&next=done"), _path(visit, "Download", "&file=1")
    return (
        f'<p><a href="{escape(subscribe)}">Subscribe</a></p><p><a'
        f' href="{escape(download)}">Download</a></p>{_on(visit)}'
    )


def _catalogue(visit: Visit) -> str:
    """Links that change something: by the address that they open, or by what its page sends as it loads."""
    added = escape(_path(visit, "Add one", "&show=added"))
    return f'<p><a href="{added}">Add one</a></p><p><a href="/{visit.task}/visited">Visit</a></p>{_on(visit)}'


def _visited(visit: Visit) -> str:
    return f"<script>act('{visit.task}', 'Visit')</script><p>Visits are counted.</p>{_on(visit)}"


def _draft(visit: Visit) -> str:
    send = f"act('{visit.task}', 'Draft', field.value)"
    listen = f"let timer; field.oninput = () => {{ clearTimeout(timer); timer = setTimeout(() => {send}, 900); }}"
    script = f"<script>const field = document.getElementById('draft'); {listen}</script>"
    return f"<p><label>Draft <input id=draft></label></p>{script}{_on(visit)}"


def _letter(visit: Visit) -> str:
    fields = "".join(
        f"<p><label>{name} <input class=part></label></p>" for name in ("Greeting", "Message", "Signature")
    )
    text = "[...document.querySelectorAll('.part')].map((one) => one.value).join(' ')"
    return fields + _button("Send letter", f"act('{visit.task}', 'Send letter', {text}).then(() => say('Sent'))")


def _basket(visit: Visit) -> str:
    return _form(visit, "Buy", "done") if visit.has_basket else "<p>Your basket is empty.</p>"


def _offer(visit: Visit) -> str:
    return _form(visit, "Add to basket", "basket", "&basket=1")


def _counter(visit: Visit) -> str:
    return _button("Open the counter", f"window.open('/{visit.task}/confirm')") + _on(visit)


_PAGES: Mapping[str, tuple[str, Callable[[Visit], str]]] = {
    "hall": ("Hall", lambda visit: _on(visit)),
    "rest": ("Reading room", lambda visit: "<p>Nothing can be changed here.</p>" + _on(visit, "garden")),
    "garden": ("Garden", lambda visit: "<p>Nor here.</p>" + _on(visit)),
    "done": ("Done", lambda visit: "<p>It has been done.</p>" + _on(visit)),
    "order": ("Order", _order),
    "like": ("A picture", lambda visit: _sending(visit, "Like") + _on(visit)),
    "note": ("A note", _note),
    "desk": ("Desk", _desk),
    "votes": ("Votes", _votes),
    "links": ("Links", _links),
    "counter": ("Counter", _counter),
    "confirm": ("Confirmation", lambda visit: _form(visit, "Confirm", "done")),
    "offer": ("Offer", _offer),
    "basket": ("Basket", _basket),
    "leaving": ("A page that is left", _beacon),
    "catalogue": ("Catalogue", _catalogue),
    "added": ("Added", lambda visit: "<p>One was added.</p>" + _on(visit)),
    "visited": ("Visitors", _visited),
    "draft": ("Draft", _draft),
    "letter": ("Letter", _letter),
    **{f"later{delay_ms}": ("Later", _later(delay_ms)) for delay_ms in (300, 900, 1000, 1500, 2500)},
}
