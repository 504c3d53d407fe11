"""Pages of random elements, styles and shadow trees, each the same for its seed: what nobody thought of writing down.

The tables hold what decides where an element is, whether it is in the accessibility tree, and who can reach its parts.
"""

from random import Random

_ELEMENTS = (
    "div section article nav header main aside footer p h1 h2 ul ol li table tr td th form fieldset details summary blockquote span a b i"
    " em label button dl dt dd figure picture svg g object x-a x-b slot dialog menu address legend caption tbody thead center"
).split()
_PLAIN = ("div", "span", "p", "ul", "li")
_HOSTS = "div section span article p h1 x-a x-b main aside nav header footer blockquote".split()
_MODES = ("open", "closed", "closed")
_LEAVES = (
    "<img src='data:,' alt='{word}'>",
    "<img alt=''>",
    "<input value='{word}'>",
    "<input type=checkbox aria-label='{word}'>",
    "<input type=radio id=r{number}><label for=r{number}>{word}</label>",
    "<input type=range>",
    "<input type=date>",
    "<input type=number value=3>",
    "<input type=file>",
    "<input type=hidden value=x>",
    "<input type=image alt='{word}'>",
    "<input type=submit>",
    "<input type=color>",
    "<input list=none value='{word}'>",
    "<textarea>{word}\n{word}</textarea>",
    "<select><option>{word}<option>{word}</select>",
    "<select multiple size=3><option>{word}<optgroup label=g><option>{word}</optgroup></select>",
    "<datalist><option>{word}</datalist>",
    "<br>",
    "<hr>",
    "<wbr>",
    "<!-- comment -->",
    "<script>1</script>",
    "<style>.c{number} {{ color: red }}</style>",
    "<template><p>{word}</p></template>",
    "<progress value=.3></progress>",
    "<meter value=.4>m</meter>",
    "<video controls></video>",
    "<audio controls></audio>",
    "<canvas>{word} <a href=#>{word}</a></canvas>",
    "<iframe srcdoc='<p>{word}</p>'></iframe>",
    "<iframe srcdoc='<button>{word}</button>' style='display: none'></iframe>",
    "<embed type='text/html'>",
    "<math><mi>x</mi></math>",
    "<svg width=40 height=20><text x=1 y=12>{word}</text><rect width=9 height=9></rect><title>{word}</title></svg>",
    "<map name=m{number}><area href=# coords='0,0,9,9' alt='{word}'></map><img usemap=#m{number} width=20 height=20>",
    "<ruby>{word}<rt>{word}</rt></ruby>",
)
_ATTRIBUTES = (
    "hidden,hidden=until-found,aria-hidden=true,aria-hidden=false,role=presentation,role=none,role=button,role=dialog,role=img,role=menu,"
    "role=listbox,role=row,role=gridcell,role=heading,role=tree,role=treeitem,role=alert,role=generic,inert,tabindex=0,tabindex=-1,"
    "aria-label=label{number},title=title{number},contenteditable,open,popover,aria-owns=i{other},aria-labelledby=i{other},"
    "aria-describedby=i{other},dir=rtl,href=#,disabled,readonly,required,aria-expanded=true,aria-live=polite,aria-checked=true,"
    "draggable=true,slot=s,aria-modal=true,onclick=1,name=children,name=firstChild,aria-roledescription=x"
).split(",")
_STYLES = (
    "display: none,display: contents,display: flex,display: flex; flex-direction: column-reverse,display: grid,display: inline,"
    "display: inline-block,display: table-cell,display: list-item,display: flow-root,visibility: hidden,visibility: visible,opacity: 0,"
    "position: fixed; top: {away}px; left: 9px,position: absolute; top: {away}px,position: relative; top: {away}px,position: sticky; top: 0,"
    "position: absolute; left: -9999px,transform: translateY({away}px),float: right,float: left; width: 50px,overflow: hidden; height: 20px,"
    "overflow: scroll; height: 60px,height: 0,height: 0; overflow: hidden,width: 0,height: {away}px,content-visibility: auto,"
    "content-visibility: hidden,contain: strict; height: 40px,margin-top: {away}px,margin-top: -{away}px,line-height: {away}px,columns: 2,"
    "clip-path: inset(100%),writing-mode: vertical-rl,zoom: .5,scale: 0,rotate: 45deg,font-size: 0,text-indent: -9999px,white-space: pre"
).split(",")
_AWAY = (0, 5, 30, 300, 900, 3000, 9000)
_WORDS = ("alpha", "beta 12", "x", "Grüße", "10.50 €", "—", "a  b", "\u200b", "...")
_IDS = 40
_DEEPEST = 9


def random_page(seed: int) -> str:
    """What a `body` holds; for `setHTMLUnsafe`, which makes its shadow trees."""
    return _Pages(Random(seed)).body()


class _Pages:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._number = 0
        self._left = random.choice((15, 30, 60, 120))
        """Elements that may still be made."""
        self._is_still = False
        """Whether elements are where they would be without style."""

    def body(self) -> str:
        body = self._children(0)
        if self._happens(0.4):
            items = "".join(f"<li>{n} <a href=#>link</a></li>" for n in range(self._random.choice((20, 300))))
            body = f"<ul>{items}</ul>{body}"
        if self._happens(0.3):
            body += f"<div style='height: 4000px'></div>{self._children(0)}"
        if self._happens(0.3):
            body += f"<div hidden>{'<ul><li><a href=#>choice</a></ul>' * 60}</div>"
        return body

    def _children(self, depth: int) -> str:
        made = []
        for _ in range(self._random.choice((0, 1, 1, 2, 3, 5)) if depth else 12):
            if self._left >= 0 and depth <= _DEEPEST:
                made.append(self._text() if self._happens(0.45) else self._element(depth))
        return "".join(made)

    def _element(self, depth: int) -> str:
        self._left -= 1
        if self._happens(0.22):
            return self._filled(self._random.choice(_LEAVES))
        name = self._random.choice(_ELEMENTS if self._happens(0.7) else _PLAIN)
        mode = self._random.choice(_MODES) if name in _HOSTS and self._happens(0.12) else None
        inside = self._children(depth + 1)
        # What far elements with a closed shadow tree send elsewhere is not looked for in documents that are read in parts.
        was_still, self._is_still = self._is_still, self._is_still or mode == "closed"
        attributes = self._attributes()
        if mode is not None:
            inside = f"<template shadowrootmode={mode}>{self._shadow_tree(depth)}</template>{inside}"
        self._is_still = was_still
        if self._happens(0.04):
            item = "li" if name in ("ul", "ol") else "div"
            inside += "".join(f"<{item}>{self._word()}</{item}>" for _ in range(self._random.choice((10, 80, 150))))
        return f"<{name}{attributes}>{inside}</{name}>"

    def _shadow_tree(self, depth: int) -> str:
        slots = self._random.choice(("<slot></slot>", "<slot name=s></slot><slot></slot>", "<slot>else</slot>", ""))
        return self._children(depth + 1) + slots

    def _attributes(self) -> str:
        made = [f"id=i{self._random.randrange(_IDS)}"] if self._happens(0.25) else []
        while self._happens(0.28):
            made.append(self._filled(self._random.choice(_ATTRIBUTES)))
        if self._happens(0.3) and not self._is_still:
            styles = self._random.choices(_STYLES, k=self._random.choice((1, 1, 2)))
            made.append(f"style='{'; '.join(map(self._filled, styles))}'")
        return "".join(f" {one}" for one in made)

    def _text(self) -> str:
        return self._random.choice(("", "  ", "\n", "&nbsp;", self._word(), f"{self._word()} ", self._word() * 6))

    def _word(self) -> str:
        self._number += 1
        return f"{self._random.choice(_WORDS)}{self._number}"

    def _filled(self, pattern: str) -> str:
        other, away = self._random.randrange(_IDS), self._random.choice(_AWAY)
        return pattern.format(word=self._word(), number=self._number, other=other, away=away)

    def _happens(self, chance: float) -> bool:
        return self._random.random() < chance
