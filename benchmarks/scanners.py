"""Everything here that reads text somebody else wrote, each with the inputs that are worst for it.

An input is a unit that is repeated: most pages, replies and files that are slow to read are long in just one way. A
scanner may refuse its input; how long it takes to do so is what counts.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from harness.actions import extract
from harness.actions.truncate import cut
from harness.agents.token_limit import trim
from harness.browser.network.addresses import Addresses, SiteFinder
from harness.browser.rendering.similarity import entries, renamed, without_ids
from harness.codec import loads
from harness.config.near_names import misspelt
from harness.errors import HarnessError
from harness.escape import one_line, visible
from harness.evaluation.action_classes import action_set_of
from harness.evaluators.judge import last_word, lenient
from harness.evaluators.own_page import without_echo
from harness.evaluators.text_match import clean, includes
from harness.evaluators.url_match import url_match
from harness.llm.providers.chat import ChatCompletions
from harness.llm.retry import RetryableError
from harness.llm.retry_after import retry_after_s
from harness.plugins.attribution.page_signs import sign_of
from harness.plugins.demo.code.projects import markdown
from harness.plugins.demo.model.prompt_parser import read_request
from harness.plugins.webarena.render_file import read_render
from harness.plugins.webarena.results_import import verdicts_in
from harness.records import Eval, HtmlTarget, Site, Task
from harness.secrets.redaction import Redactor
from harness.tasks.placeholders import expand
from harness.testing import observation

SHOP = Site(name="shop", url="http://10.0.0.1:7770", canonical="http://shop.test", login=None)
"""At an address of its own, so that pages are looked through for it."""


@dataclass(frozen=True, slots=True)
class Scanner:
    """One reader and one way to be long."""

    name: str
    scan: Callable[[str], object]
    unit: str
    head: str = ""
    tail: str = ""

    def text(self, count: int) -> str:
        """The input with the unit `count` times in it."""
        return f"{self.head}{self.unit * count}{self.tail}"

    def read(self, text: str) -> None:
        """Read it; a refusal is an answer."""
        try:
            self.scan(text)
        except (HarnessError, RetryableError, ValueError):
            return


def scanners() -> Iterator[Scanner]:
    """All of them."""
    for room in (_redaction, _actions, _evaluation, _pages, _replies, _files):
        yield from room()


def _each(name: str, scan: Callable[[str], object], *inputs: tuple[str, ...]) -> Iterator[Scanner]:
    """`inputs`: unit, and what stands before and after it."""
    for unit, head, tail in ((*one, "", "")[:3] for one in inputs):
        shown = unit if len(unit) <= 48 else unit[:47] + "…"
        yield Scanner(f"{name}, {f'{head[-24:]}({shown})*{tail[:12]}'!a}", scan, unit, head, tail)


def _redaction() -> Iterator[Scanner]:
    named = Redactor({"llm.api_key": "sk-hunter2hunter2hunter2", "login": 'pa"ss&<word>é'})
    yield from _each(
        "redaction",
        named.text,
        *((unit,) for unit in ("cookie:", "ésk-", "sk-", "ésk-a", "bearer ", "bearer a ", "authorization:", "cookie=")),
        *((unit,) for unit in ("cookie: a=b; ", "cookie: a=b;", "set-cookie:a=", "proxy-authorization ", "[redacted:")),
        *(
            (unit,)
            for unit in ('"name": "cookie", "value": "', '"name": "cookie", ', "Cookie:é", "sk-hunter2", "cookie\\")
        ),
        (" ", "cookie"),
        (" ", "cookie:"),
        (" ", "authorization: basic"),
        (" ", "authorization"),
        (" ", "bearer"),
        (";", "cookie: a=b"),
        ("; ", "cookie: a=b"),
        ("; a", "cookie: a=b"),
        ("a", "cookie: "),
        ("a", "bearer "),
        ("a", "ésk-"),
        ("\\a", '"name": "cookie", "value": "'),
        ("\\", '"name": "cookie", "value": "'),
    )
    yield from _each("reveal", named.reveal, ("[redacted:",), ("[redacted:llm.api_key]",), ("a", "[redacted:"))


def _actions() -> Iterator[Scanner]:
    def parse(action_set: str) -> Callable[[str], object]:
        return action_set_of(action_set).parse

    yield from _each(
        "cairn action",
        parse("cairn"),
        (" ", "drag [1] [2]", "x"),
        (" ", "drag [1] [2", "]x"),
        (" where [", "drag [1] [2]"),
        (" ", "type [1] [a] ", "x"),
        ("] ", "type [1] [a"),
        ("] [", "type [1] [a"),
        ("] where [1] is ", "click [1] [a", ""),
        ("] where [2] is ", "click [1] [a", ""),
        ("1", "click [1] where [", ""),
        ("1", "click [", ""),
        ("] [ 1", "clear [1] [a"),
        (" ", "scroll [", "x"),
        (" ", "scroll direction", "x"),
        ("+", "press [", "]"),
        ("[", "stop "),
        ("a",),
        (" ",),
        ("\n", "stop [a]", "x"),
        ("_",),
    )
    yield from _each(
        "id_accessibility_tree action",
        parse("id_accessibility_tree"),
        ("type [1] [", ""),
        ("type [1] [", "", "\n"),
        ("] [1", "type [1] [a"),
        ("] [1]", "type [1] [a", "\n"),
        ("1", "type [1] [a] ["),
        ("press [", ""),
        ("goto [",),
        ("stop [",),
        ("stop [\n",),
        ("click [1",),
        ("click [", ""),
        ("1", "click ["),
        ("scroll [",),
        ("tab_focus [1",),
        ("+", "press [", "]"),
        (" ", "click [1]"),
    )
    yield from _each(
        "playwright action",
        parse("playwright"),
        ('.press("',),
        ('press("\n', ".", ""),
        ('.fill("', "page"),
        ('.goto("a', "page"),
        ('stop("', "page."),
        ('stop("\n', "page."),
        ("stop(", "page."),
        ("page_focus(1", "page."),
        (".", "a"),
        ("(", "a.click"),
        (")", "a.click("),
        ("().", "a"),
    )
    yield from _each("extract", extract, ("`",), ("```",), ("``a",))


def _evaluation() -> Iterator[Scanner]:
    words = ("correct", "incorrect")
    yield from _each(
        "judge's last line",
        lambda reply: last_word(reply, words),
        (".", "", "x"),
        (". ", "x", "y"),
        ("!", "", "-"),
        ("\n", "correct"),
        ("#.\n",),
        ("*", "correct", "x"),
        ("\u2028.", "", "x"),
    )
    yield from _each(
        "judge, lenient", lambda reply: lenient(reply, good="correct", bad=words[1:]), ("correc",), ("in",)
    )
    yield from _each(
        "numbers in an answer",
        lambda text: includes("12", clean(text)),
        *((unit,) for unit in ("1", "1,", "1,111", ",111", "1.", "-1", "1-", "1.1.", "111,", "1/", "+")),
        (",111", "1", "x"),
        (",1111", "1"),
        ("1", "", "x"),
        ("1", "1.", "x"),
    )
    for asked in ("a+" * 500 + "zz", "zz" * 500):
        yield from _each(
            f"echo of {asked[:2]} in a page",
            lambda page, asked=asked: without_echo(
                page, f"http://shop.test/?q={asked}", HtmlTarget(url="last", must_include=("zz",))
            ),  # type: ignore[misc]
            ("a ",),
            ("z",),
            (" \n",),
        )
    yield from _each("clean", clean, ("'",), (" ",), ('"',))
    for dialect in ("webarena", "corrected"):
        yield from _each(
            f"url match, {dialect}",
            lambda url, dialect=dialect: url_match(_asked("http://shop.test/a?b=c"), url, dialect),  # type: ignore[misc]
            ("/", "http://shop.test"),
            ("&b", "http://shop.test/a?"),
            ("%2", "http://shop.test/a?"),
            ("a=b;", "http://shop.test/a?"),
            ("@", "http://"),
            ("[", "http://"),
        )


def _asked(url: str) -> Task:
    return Task(
        task_id="0",
        sites=("shop",),
        intent="",
        start_urls=(),
        eval=Eval(eval_types=("url_match",), reference_url=url, url_note="GOLD in PRED"),
    )


def _pages() -> Iterator[Scanner]:
    addresses, finder = Addresses((SHOP,)), SiteFinder((("shop", SHOP.url),))
    pages = [*((unit,) for unit in ("http://", "http://10.0.0.1:7770", "http%3A%2F%2F10.0.0.1", "10.0.0.1:7770/"))]
    yield from _each("addresses in a text", addresses.to_canonical, *pages, ("10.0.0.1",), ("@", "10.0.0.1:7770"))
    yield from _each("an address", addresses.to_canonical, *pages, ("/", SHOP.url))
    yield from _each("the site of an address", finder, ("/", SHOP.url), (":", SHOP.url), ("[",))
    lines = (("\t",), ("[",), ("\t[1] a\n",), ("[1",), ("\n\n",), ("1", "["), ("\t", "a\n", "x"))
    yield from _each("entries of a page", lambda text: list(entries(text)), *lines, ("[1] button 'a'\n", "a\n\n"))
    yield from _each("a page without ids", without_ids, *lines)
    yield from _each("a page renamed", lambda text: renamed(text, {"1": "2"}), *lines)
    yield from _each("signs on a page", lambda text: sign_of(observation(text).observation), *lines, ("textbox ",))
    yield from _each("trimming", lambda text: trim(text, 100), ("a",), (" ",), ("a ",), ("é",), ("\n",))
    yield from _each("visible", visible, ("\x1b[31m",), ("\u202e",), ("a",), ("\r\n",))
    yield from _each("one line", lambda text: one_line(text, 80), (" ",), ("\x1b]0;",), ("\n",))
    yield from _each("cut", lambda text: cut(text, 4000), ("a",))


def _replies() -> Iterator[Scanner]:
    yield from _each(
        "a completion",
        lambda text: ChatCompletions().read(text.encode()),
        ("[",),
        ('{"a":',),
        ("1",),
        ('"\\ud800', '{"choices": [{"message": {"content": '),
        ("\\ud800", '{"choices": [{"message": {"content": "', '"}}]}'),
        ("1", '{"choices": [{"message": {"content": "a"}}], "usage": {"prompt_tokens": ', "}}"),
    )
    for name in ("retry-after", "retry-after-ms", "x-ratelimit-reset-requests"):
        yield from _each(
            name,
            lambda value, name=name: retry_after_s({name: value}, status=429, now=0.0),  # type: ignore[misc]
            *((unit,) for unit in ("1", "1m", "1ms", "1.", " ", "Mon, ")),
            ("1m", "", "x"),
        )


_RENDERED = "<h3 class='url'><a href=a>URL: a</a></h3><div class='state_obv'><pre>a</pre><div>\n"


def _files() -> Iterator[Scanner]:
    yield from _each(
        "placeholders",
        lambda text: expand("a", {"b": text}, {"a": "http://a.test"}),
        *((unit,) for unit in ("_", "__A", "_A", "__A_", "__A__")),
        ("A", "__"),
        ("_A", "__A"),
        ("_A", "__A", "_"),
    )
    yield from _each("JSON", loads, ("[",), ('{"a":',), ("1",), ('"',), ("[1,",))
    yield from _each(
        "a setting's name", lambda name: misspelt(name, ("limits.max_steps", "llm.model")), ("max_", "limits.")
    )
    yield from _each(
        "a render file",
        read_render,
        ("<body><pre>",),
        ("<body> ",),
        ("<body>",),
        (" ", "<body>"),
        *(
            (unit, f"<body><pre>task_id: 1\n</pre><h2>New Page</h2>\n{_RENDERED}")
            for unit in (
                "<h3 class='url'><a href=",
                "<div class='state_obv'><pre>",
                "<img src='data:image/png;base64,",
                "<div class='raw_parsed_prediction'",
                "<div class='raw_parsed_prediction'><pre>",
                "<div class='parsed_action'><pre>",
                "<div class='parsed_action'",
                "<div class='predict_action'>",
            )
        ),
        ("intent: ", "<body><pre>", "</pre>"),
        ("[", "<body><pre>sites: ", "</pre>"),
    )
    yield from _each(
        "verdicts in a log", lambda text: list(verdicts_in(text)), ("1", "[Result] (PASS) "), ("[Result] (PASS) 1",)
    )
    yield from _each(
        "a prompt", lambda text: read_request([{"role": "user", "content": text}]), ("\nURL:",), ("\nOBJECTIVE:",)
    )
    elements = ("[1] a 'b\\", "[1] a '", "[1] a 'b'", "\t[1] button 'b' \n", "1.\n")
    sections = "OBSERVATION:\n", "\nURL: a\nOBJECTIVE: b\nPREVIOUS ACTIONS:\nNone"
    yield from _each(
        "elements in a prompt",
        lambda text: read_request([{"role": "user", "content": text}]),
        *((unit, *sections) for unit in elements),
        ("\\", "OBSERVATION:\n[1] a '", "\nURL: a\nOBJECTIVE: b\nPREVIOUS ACTIONS:\nNone"),
    )
    yield from _each(
        "Markdown", lambda text: list(markdown(text)), ("```x\n",), ("```\n",), ("```",), ("\n",), ("#",), ("- a\n",)
    )
