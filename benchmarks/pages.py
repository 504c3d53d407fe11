"""Pages to read: tables of any length for timing, and small ones that hold everything known to make reading go
wrong.
"""

import re
from collections.abc import Mapping


def rows(count: int) -> str:
    """A table with four cells, a link, a box to tick and a button per row."""
    row = (
        '<tr><td><a href="/item/{n}">Item {n}</a></td><td>{price} <b>EUR</b></td>'
        '<td><input type=checkbox aria-label="Pick {n}"></td><td><button>Buy {n}</button></td></tr>'
    )
    body = "".join(row.format(n=n, price=n * 7 % 100) for n in range(count))
    head = "<thead><tr><th>Item<th>Price<th>Pick<th>Buy</tr></thead>"
    return _page(
        f"<h1>Items</h1><nav><a href=#a>A</a> <a href=#b>B</a></nav><table>{head}<tbody>{body}</tbody></table>"
    )


def menus(count: int) -> str:
    """Lines with a menu each that is not shown: five times as many elements as accessibility nodes."""
    hidden = "<div hidden><ul>" + "<li><a href=#>Choice</a>" * 7 + "</ul></div>"
    return _page("".join(f"<p>Line {n}</p>{hidden}" for n in range(count)))


def _page(body: str, *, html: str = "<html lang=en>") -> str:
    return f"<!doctype html>{html}<title>Page</title>{body}"


def _many(text: str, count: int = 9) -> str:
    return "".join(text.replace("#", str(n)) for n in range(count))


_TALL = "<style>p, li, section, article, details { min-height: 90px }</style>"
_WORDS = "some words of a paragraph that goes on for a while and ends at some point " * 4

_BOXES = (
    """<style>
    .fixed { position: fixed; top: 5px; right: 5px } .sticky { position: sticky; top: 0 }
    .absolute { position: absolute; top: 300px; left: 200px } .relative { position: relative; top: -1000px }
    .turned { transform: translateY(-900px) rotate(10deg) } .pulled { margin-top: -700px }
    .low { height: 10px } .floating { float: left; width: 100px; height: 20px }
    </style><div class=fixed><a href=#1>fixed</a></div><h2 class=sticky>Sticky</h2>"""
    + _many(f"<section><h3>Part #</h3><p>{_WORDS}</p></section>")
    + f"""<div class=absolute>absolute <b>bold</b></div><div class=relative><p>up <a href=#q>q</a></p></div>
    <div class=turned><p>turned <button>tb</button></p></div><div class=pulled>pulled</div>
    <div class=low><p>{_WORDS}</p></div><div class=floating><p>{_WORDS}</p></div>"""
)
_FORMS = (
    "<form>"
    + _many(
        """<p><label>Name # <input name=nodeName value="v#"></label><input type=checkbox name=firstChild>
        <select name=nextSibling><option>a#<option selected>b#<optgroup label=G><option>c</optgroup></select>
        <textarea name=childNodes>t# line</textarea><input type=date><input type=range><input type=file>
        <input placeholder="hint #"><button name=nodeType>b#</button>""",
        9,
    )
    + "</form><img name=querySelectorAll alt=clobber>"
)
_DETAILS = (
    _TALL
    + _many(f"<details open><summary>Open #</summary><p>{_WORDS}</p><a href=#>deep #</a></details>", 6)
    + _many("<details><summary>Closed #</summary><p>hidden</p></details>", 6)
    + "<dialog open><p>dialog</p><button>x</button></dialog>"
)
_CONTENTS = _TALL + _many(
    """<ul style="display: contents"><li style="display: contents">item # <a href=#>a#</a></li></ul>
    <button style="display: contents">contents #</button><p>filler #</p>"""
)
_SHADOW = (
    _TALL
    + "<div id=one>text</div><x-open></x-open><x-closed>slotted <a href=#>light</a></x-closed>"
    + _many("<p>filler # <span>s</span></p>")
    + """<div id=late>late</div><script>
    for (const [at, mode] of [["#one", "open"], ["x-open", "open"], ["x-closed", "closed"], ["#late", "closed"]]) {
        const host = document.querySelector(at), root = host.attachShadow({ mode });
        root.innerHTML = "<p>shadow of " + at + " <slot></slot> <button>b</button></p><div></div>";
        const inner = root.querySelector("div").attachShadow({ mode: "open" });
        inner.innerHTML = "<i>nested <slot>fallback</slot></i><form><input name=childNodes value=inner></form>";
    }</script>"""
)
_SLOTS = (
    "<style>x-card { display: block; min-height: 120px }</style>"
    + _many("<x-card><span slot=title>Title #</span><p>Body # <a href=#>l#</a></p></x-card>")
    + """<script>for (const host of document.querySelectorAll("x-card")) {
        host.attachShadow({ mode: "open" }).innerHTML =
            "<article><slot></slot><h3><slot name=title></slot></h3><button>ok</button></article>";
    }</script>"""
)
_OWNS = (
    _TALL
    + '<div role=list aria-owns="far1 far2 near"></div>'
    + _many("<p>filler #</p>")
    + """<div role=listitem id=far1>far one <a href=#>x</a></div><div role=listitem id=far2>far two</div>
    <div style="position: fixed; top: 100px; left: 600px" role=listitem id=near>near <button>nb</button></div>
    <div style="position: absolute; top: 1700px" role=group aria-label=grp aria-owns=up></div>
    <div id=up style="position: absolute; top: 50px; left: 700px">owned from afar <a href=#>w</a></div>"""
)
_LONG = (
    f"<p>{'word ' * 8000}</p><pre style='height: 100px; overflow: auto'>{'line' + chr(10) * 2}{'line' + chr(10)}</pre>"
    f"<div style='white-space: nowrap; width: 50px'>{'nowrap ' * 300}</div>"
)
_PSEUDO = """<style>.b::before { content: "pre "; position: absolute } .b::after { content: " post" }
    li::marker { content: "x " } h2 { min-height: 80px } p::first-letter { font-size: 300% }</style>""" + _many(
    "<h2 class=b>Head #</h2><ol><li>one<li>two <span class=b>three</span></ol><p>First #"
)
_INLINE = (
    "<p style='line-height: 60px'>"
    + _many(
        "<a href=#>l#</a> <em>e#</em>\n<strong>s# <u>u</u></strong>&nbsp;<code>c</code>\u2003<br>\u2028<i> </i>", 24
    )
    + "</p><pre>two  <b>spaces</b>   <i>three</i></pre>"
)
_PICTURES = (
    _TALL
    + """<img alt=mapped usemap=#m width=400 height=300
    src="data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"><map name=m>
    <area alt=A1 href=#1 shape=rect coords=0,0,50,50><area alt=A2 href=#2 shape=rect coords=60,60,150,150></map>
    <svg width=200 height=200><title>svg</title><g role=img aria-label=grp><rect width=50 height=50></rect></g>
    <text x=10 y=90>svg text <a href="#">sl</a></text></svg><canvas width=100 height=50>fall <button>f</button></canvas>
    <math><mi>x</mi><mo>+</mo><mn>1</mn></math>"""
    + _many('<figure><img alt="i#" width=40 height=90><figcaption>cap #</figcaption></figure>')
)
_FLOWS = (
    '<div style="columns: 3; height: 200px">'
    + _many("<p>column # text</p>", 24)
    + '</div><div style="writing-mode: vertical-rl; height: 200px">'
    + _many("<p>v# <a href=#>a</a></p>", 20)
    + '</div><div style="display: grid; grid-template-columns: repeat(4, 1fr); grid-auto-rows: 90px">'
    + _many("<div>g# <span>x</span></div>", 40)
    + f'</div><div style="display: flex; align-items: center; height: 20px">{_WORDS}</div>'
)
_HIDDEN = (
    """<div hidden>h</div><div style="visibility: hidden">vh <span style="visibility: visible">vv</span></div>
    <div aria-hidden=true>ah <a href=#>x</a></div><div style="opacity: 0">op</div>
    <div style="position: absolute; left: -9999px">away <a href=#>skip</a></div>
    <div style="position: absolute; width: 1px; height: 1px; overflow: hidden">for screen readers</div>
    <nav inert><a href=#>in</a></nav><div style="content-visibility: hidden">cv <a href=#>cva</a></div>
    <p style="height: .5px; margin: 0">thin</p><p style="height: .9px; margin: 0">less thin</p>"""
    + f"<div style='content-visibility: auto'>{_many('<p>auto #</p>', 30)}</div>"
    + _many("<div role=presentation><div role=none><a href=#>n#</a></div></div>", 9)
)
_SCROLLERS = (
    f'<div id=box style="height: 200px; overflow: auto">{_many("<p>row # <a href=#>r#</a></p>", 30)}</div>'
    + f'<div style="overflow: hidden; height: 50px">{_many("<p>clip #</p>", 20)}</div>'
    + f'<textarea id=area style="height: 40px">{"line" + chr(10)}{_many("line #" + chr(10), 40)}</textarea>'
    + f'<input id=line style="width: 50px" value="{"long " * 60}"><div style="height: 900px"></div>'
    + "<script>box.scrollTop = 700; area.scrollTop = 400; line.scrollLeft = 300</script>"
)
_TABLES = (
    _TALL
    + f'<div style="display: table">{_many("<div style=display:table-cell>c# <b>b</b></div><span>x#</span>")}</div>'
    + _many("<table><caption>C #</caption><tr><th scope=row>R<td colspan=2>a #<tr><td>b<td>c</table>")
    + _many("<dl><dt>t#<dd>d# <abbr title=x>ab</abbr></dl><p>p")
)
_CARDS = _many(
    """<article style="min-height: 130px" aria-label="Item #"><h2><a href=#>Item #</a></h2><span>Price: $#.00</span>
    <img alt="" src=x><button aria-pressed=false>Add <span>Item #</span></button></article>"""
)

MUTE = (
    _TALL
    + """<div aria-hidden=true><input value=a></div><div inert><input value=b></div>
    <div style="visibility: hidden"><input value=c><select><option>d</select></div>"""
    + _many("<p>filler # <input value='v#'></p>")
)
"""Fields of which assistive technology is not told, and others."""
ASTRAY = (
    MUTE
    + """<details role=presentation>body</details><div role=presentation id=one>light</div><span id=two>light</span>
    <script>for (const host of [one, two]) host.attachShadow({ mode: "closed" }).innerHTML = "in <b>closed</b> <slot>";
    </script>"""
)
"""Parts that no script can reach, of elements that are not in the accessibility tree."""
HIDDEN_HOSTS = _page(
    _TALL
    + "<x-menu style='display: none'>light</x-menu><div hidden><p>p<x-menu>light</x-menu></div>"
    + _many("<p>text # <a href=#>l#</a></p>")
    + """<iframe srcdoc='in a frame'></iframe><script>for (const host of document.querySelectorAll("x-menu"))
    host.attachShadow({ mode: "open" }).innerHTML = "in <b>open</b> <slot></slot>"</script>"""
)
"""Open shadow trees of elements that are not displayed, before a frame."""
_FAR_HOSTS = (
    _TALL
    + "<p>near</p><div style='height: 5000px'></div><x-far></x-far><div id=far></div>"
    + """<script>for (const [host, top] of [[document.querySelector("x-far"), 60], [far, 120]])
    host.attachShadow({ mode: "closed" }).innerHTML = `<b style='position: fixed; top: ${top}px'>fixed ${top}</b>`;
    </script>"""
)
FIELDS_IN_A_HOST = _page(
    f"<section id=whole>{_many('<p>text # <a href=#>l#</a></p>')}<p style='margin-top: 5000px'>far"
    + _many("<p>text # <a href=#>l#</a></p>", 200)
    + "<input value='in a field'><textarea>in an area</textarea></section>"
    + """<script>whole.attachShadow({ mode: "closed" }).innerHTML = "<p>in</p><slot></slot>"</script>"""
)
"""Parts of the browser's own widgets, which belong to an element whose shadow tree is closed."""

AWKWARD: Mapping[str, str] = {
    "boxes": _page(_BOXES),
    "right to left": _page(
        _TALL + _many("<p>שלום עולם # <a href=#>קישור #</a> <bdo dir=ltr>english</bdo></p>"), html="<html dir=rtl>"
    ),
    "forms": _page(_FORMS),
    "details": _page(_DETAILS),
    "display: contents": _page(_CONTENTS),
    "shadow trees": _page(_SHADOW),
    "slots": _page(_SLOTS),
    "aria-owns": _page(_OWNS),
    "long texts": _page(_LONG),
    "generated content": _page(_PSEUDO),
    "inline": _page(_INLINE),
    "pictures": _page(_PICTURES),
    "flows": _page(_FLOWS),
    "hidden": _page(_HIDDEN),
    "scrollers": _page(_SCROLLERS),
    "tables": _page(_TABLES),
    "cards": _page(_CARDS),
    "deep": _page("<div>" * 300 + "deep <a href=#>d</a>" + "</div>" * 300 + _TALL + _many("<p>after #")),
    "mute": _page(MUTE),
    "far hosts": _page(_FAR_HOSTS),
    "astray": _page(ASTRAY),
    "hidden hosts": HIDDEN_HOSTS,
    "fields in a host": FIELDS_IN_A_HOST,
    "empty": "",
}


def _escape(row: str, style: str = "", end: str = "") -> str:
    """A table that reaches far below the viewport, whose last row holds `row`, and which may send it back up."""
    far = _many("<tr><td>row #<td><a href=#>link #</a>", 6)
    css = f"<style>td {{ height: auto; padding: 400px 0 }} i {{ line-height: 200px }} {style}</style>"
    body = f"<table><tbody>{far}<tr class=last><td>last<td>{row}</tbody></table><p>end</p>{end}"
    return f"<!doctype html><html lang=en><title>Far</title>{css}{body}"


_FAR_WORDS = "<i>one word below another </i>" * 8

ESCAPES: Mapping[str, str] = {
    "nothing": _escape(
        "<b>stays</b>", end=_many("<div style='margin: 90px'><p>calm <b>#</b> <a href=#>l</a></p></div>", 60)
    ),
    "position": _escape("<b class=up>up</b>", ".up { position: absolute; top: 10px }"),
    "fixed": _escape("<b class=up>up</b>", "@media all { .up { position: fixed; top: 10px } }"),
    "relative": _escape("<b class=up>up</b>", ".up { position: relative; top: -4800px }"),
    "transform": _escape("<b class=up>up</b>", ".up { display: block; transform: translateY(-4800px) }"),
    "translate": _escape("<b class=up>up</b>", ".up { display: block; translate: 0 -4800px }"),
    "margin": _escape("<p class=up>up</p>", ".up { margin-top: -4800px }"),
    "margin by variable": _escape("<p class=up>up</p>", ".up { --up: -4800px; margin: var(--up) 0 0 }"),
    "logical margin": _escape("<p class=up>up</p>", ".up { margin-block-start: -4800px }"),
    "inline style": _escape("<p style='margin-top: -4800px'>up</p>"),
    "style of a clobbered form": _escape("<form style='margin-top: -4800px'>up <input name=style value=x></form>"),
    "generated margin": _escape(
        "<p class=up>up</p>", ".up::before { content: ''; display: block; margin-top: -4800px }"
    ),
    "rowspan": _escape("").replace("<tr><td>row 0", "<tr><td rowspan=30>row 0"),
    "height": _escape("", end=f"<div style='height: 10px; width: 50px'>{_FAR_WORDS}</div>"),
    "height by rule": _escape("", ".low { height: 10px; width: 50px }", end=f"<div class=low>{_FAR_WORDS}</div>"),
    "line clamp": _escape("", ".low { max-height: 1em; width: 50px }", end=f"<div class=low>{_FAR_WORDS}</div>"),
    "centred": _escape(
        "",
        ".c { display: flex; align-items: center; height: 9px } .c div { width: 9px } i { line-height: 400px }",
        end=f"<div class=c><div><div>{_FAR_WORDS}</div></div></div>",
    ),
    "shrunk": _escape(
        "",
        ".c { display: flex; flex-direction: column; height: 20px } .c > * { min-height: 0; width: 9px }",
        end=f"<div class=c><div><div>{_FAR_WORDS}</div></div></div>",
    ),
    "grid": _escape(
        "", ".g { display: grid; grid-auto-rows: 9px; width: 90px }", end=f"<div class=g><div>{_FAR_WORDS}</div></div>"
    ),
    "scrolled": _escape(
        f"<div id=s style='height: 50px; overflow: auto'>{_many('<p class=deep>deep #</p>', 40)}</div>",
        ".deep { padding: 80px }",
        end="<script>s.scrollTop = 4800</script>",
    ),
    "scrolled text": _escape(
        f"<textarea id=s style='line-height: 200px'>{_many('deep #' + chr(10), 30)}</textarea>",
        end="<script>s.scrollTop = 4950</script>",
    ),
    "float": _escape("", ".f { float: left; width: 60px }", end=f"<div><div class=f>{_FAR_WORDS}</div></div>"),
    "turned round": _escape(
        "",
        ".t { rotate: -90deg; transform-origin: 0 0; white-space: nowrap; width: 9px; letter-spacing: 30px }",
        end=f"<div class=t><p>text</p><div><p>{_FAR_WORDS}</p></div></div>",
    ),
    "vertical": _escape(
        "",
        ".v { writing-mode: vertical-lr; direction: rtl; white-space: nowrap; letter-spacing: 30px; inline-size: 9px }",
        end=f"<div class=v><div><p>{_FAR_WORDS}</p></div></div>",
    ),
    "open shadow tree": _escape(
        "<div id=h></div>",
        end=(
            "<script>h.attachShadow({ mode: 'open' }).innerHTML = "
            "'<style>p { position: fixed; top: 10px }</style><p>up <a href=#>x</a></p>'</script>"
        ),
    ),
    "closed shadow tree": _escape(
        "<x-far></x-far>",
        end=(
            "<script>document.querySelector('x-far').attachShadow({ mode: 'closed' }).innerHTML = "
            "'<style>:host { position: fixed; top: 10px; display: block }</style><p>up <a href=#>x</a></p>'</script>"
        ),
    ),
    "shadow tree of a custom element": _escape(
        "<x-far>light</x-far>",
        end="""<script>customElements.define("x-far", class extends HTMLElement {
            connectedCallback() {
                this.attachShadow({ mode: "open" }).innerHTML =
                    "<style>p { position: fixed; top: 10px }</style><p>up <a href=#>x</a></p>";
            }
        })</script>""",
    ),
    "custom element without definition": _escape(
        "<x-none><b class=up>up</b></x-none>",
        "x-none { display: block; min-height: 9px } .up { position: fixed; top: 0 }",
    ),
    "adopted style": _escape(
        "<b class=up>up</b>",
        end=(
            "<script>const sheet = new CSSStyleSheet();"
            "sheet.replaceSync('.up { position: fixed; top: 10px }'); document.adoptedStyleSheets.push(sheet)</script>"
        ),
    ),
    "nested rules": _escape("<b class=up>up</b>", ".last { color: red; & .up { position: fixed; top: 10px } }"),
    "layer": _escape("<b class=up>up</b>", "@layer a { @supports (top: 0) { .up { position: fixed; top: 10px } } }"),
    "animation": _escape(
        "<b class=up>up</b>",
        "@keyframes k { to { translate: 0 -4800px } } .up { display: block; animation: k 1s -2s both }",
    ),
    "scripted animation": _escape(
        "<p class=up>up</p>",
        end=(
            "<script>document.querySelector('.up').animate({ translate: ['0 -4800px', '0 -4800px'] },"
            "{ duration: 1e9 })</script>"
        ),
    ),
    "popover": _escape("<div popover id=p>popped</div>", end="<script>p.showPopover()</script>"),
    "dialog": _escape("<dialog id=d>asked</dialog>", end="<script>d.showModal()</script>"),
    "aria-owns": _escape("<b id=own>owned</b>", end="<div aria-owns=own role=group aria-label=g></div>"),
    "image map": (
        _escape("<map name=m><area alt=A href=# coords=0,0,50,50></map>").replace(
            "row 0",
            "<img usemap=#m width=99 height=99"
            " src='data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'>",
        )
    ),
}


def _list(style: str = "", *, items: str = "", around: str = "#", end: str = "", tag: str = "ul") -> str:
    """A list that reaches far below the viewport; `items` come before its last, `around` holds it in place of `#`."""
    far = _many("<li>item #</li> <!-- # -->", 70)
    css = f"<style>li, td {{ line-height: 170px; list-style: none }} {style}</style>"
    held = f"<{tag}><li class=first>first</li>{far}{items}<li class=last>last</li></{tag}>"
    return f"<!doctype html><html lang=en><title>List</title>{css}{around.replace('#', held)}<p>end</p>{end}"


def _table(style: str = "") -> str:
    table = _list(style).replace("<ul>", "<table><tfoot><tr><td>foot</tfoot><tbody>").replace("</ul>", "</table>")
    return re.sub("<li(.*?)>(.*?)</li>", r"<tr\1><td>\2</tr>", table)


def _closed(style: str) -> str:
    """A script that puts what the element `h` holds into a closed shadow tree."""
    inner = f"<style>{style}</style><div><slot></slot></div>"
    return f"<script>h.attachShadow({{ mode: 'closed' }}).innerHTML = `{inner}`</script>"


LISTS: Mapping[str, str] = {
    "plain": _list(),
    "texts between": _list().replace("</li> ", "</li> between "),
    "rows": _table(),
    "collapsed rows": _table("tr:nth-child(n + 36):not(.last) { visibility: collapse }"),
    "hidden items": _list(".first, li:nth-child(n + 36):not(.last) { display: none } .last { visibility: hidden }"),
    "clobbered": _list(
        items="<li>"
        + "".join(f"<input name={name}>" for name in ("children", "childElementCount", "offsetHeight", "firstChild"))
        + "</li>",
        end="<img name=evaluate alt=e>",
        tag="form",
    ),
    "positioned item": _list(".last { position: fixed; top: 5px }"),
    "pulled item": _list(".last { margin-top: -9000px }"),
    "foot first": _list("li { display: table-row } .first { display: table-footer-group }"),
    "head last": _list("li { display: table-row }", items="<li style='display: table-header-group'>head</li>"),
    "from bottom to top": _list("ul { display: flex; flex-direction: column-reverse }"),
    "columns": _list(around="<div style='columns: 2'>#</div>"),
    "side by side": _list(
        "li { display: inline-block; width: 60px; vertical-align: top } .first { line-height: 9800px }"
    ),
    "closed shadow tree of an item": _list(
        items="<div id=h>up</div>", end=_closed(":host { position: fixed; top: 5px; right: 0 }")
    ),
    "closed shadow tree of the list": (
        _list(tag="div id=h", end=_closed("::slotted(.last) { position: fixed; top: 0 }")).replace(
            "</div id=h>", "</div>"
        )
    ),
    "put in order by a closed shadow tree": _list(
        "li:nth-child(40) { order: -1 }",
        around="<div id=h>#</div>",
        end=_closed("::slotted(ul) { display: flex; flex-direction: column }"),
    ),
    "upside down": _list(around="<div id=h>#</div>", end=_closed("div { rotate: 180deg }")),
    "askew": _list(
        ".first { width: 9800px; text-align: center }",
        around="<div id=h>#</div>",
        end=_closed("div { rotate: 80deg; transform-origin: 0 0 }"),
    ),
    "vertical": _list(
        """li { line-height: 90px; min-height: 90px; margin-top: 8000px } .last { margin-top: 8050px }
        li:nth-child(4) { margin-top: 0 }""",
        around="<div id=h>#</div>",
        end=_closed(":host { writing-mode: vertical-lr }"),
    ),
}
"""Long lists, of which most items need not be looked at; and what makes items show where their order does not tell."""
