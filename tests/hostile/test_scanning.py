"""Foreign text is read in time proportional to its length, however it was made; and read as before it was made so.

Time is never judged, only how it grows: over four doublings in the same process a linear reader takes some 16 times as
long, a quadratic one 256 times.
"""

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.scanners import Scanner, scanners
from benchmarks.scanning import DOUBLINGS, growth
from harness.actions import Action, Goto, Press, Stop, Type
from harness.errors import ActionSyntaxError
from harness.evaluators.judge import last_word
from harness.plugins.webarena import id_action_set, playwright_action_set
from harness.plugins.webarena.results_import import verdicts_in
from harness.secrets.redaction import Redactor

MOST = 40
SCANNERS = list(scanners())
SHORT = settings(max_examples=150)


def test_the_inputs_have_names_of_their_own() -> None:
    assert len({scanner.name for scanner in SCANNERS}) == len(SCANNERS)


@pytest.mark.sample(60)
@pytest.mark.parametrize("scanner", SCANNERS, ids=lambda scanner: scanner.name)
def test_a_reader_takes_time_in_proportion_to_its_text(scanner: Scanner) -> None:
    found = growth(scanner, runs=2)
    if found[-1] / found[0] >= MOST:
        found = growth(scanner, runs=8)  # another process may have been in the way
    assert len(found) == DOUBLINGS + 1
    assert found[-1] / found[0] < MOST


def pieces(*ones: str) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(ones), max_size=12).map("".join)


TYPED = pieces("type [1] [", "type[", "[2]", "] [0]", "][1", "] [", "a", "]", " ", "\n", "\u2028", "3", "[")
ASKED = pieces("press [", "goto[", "stop [", "]", "a", "[", " ", "\n", "\r", "\u2028")
CODED = pieces(".press(", ".goto(", ".fill(", "stop(", "stop", '"', "'", ")", "(", "a", "\n", "\r", " ")
JUDGED = pieces("correct", "same", ".", "!", "*", "-", "#", " ", "\n", "\u00a0", "'", ">")


@SHORT
@given(TYPED)
def test_typing_is_read_as_webarena_reads_it(text: str) -> None:
    given = text if text.endswith(("[0]", "[1]")) else f"{text} [1]"
    wanted = re.search(r"type ?\[(\d+)\] ?\[(.+)\] ?\[(\d+)\]", given)
    try:
        action = id_action_set._type(text)
    except ActionSyntaxError:
        assert wanted is None
        return
    assert wanted is not None
    assert isinstance(action, Type)
    assert (action.target.id, action.text, action.enter) == (wanted[1], wanted[2], wanted[3] == "1")


def read_alike(read: Callable[[str], Action], text: str, wanted: re.Match[str] | None) -> None:
    """A key or an address is read where WebArena's own pattern finds one, and as that."""
    try:
        action = read(text)
    except ActionSyntaxError:
        assert wanted is None
    else:
        assert isinstance(action, Press | Goto) and wanted is not None
        assert (action.key_comb if isinstance(action, Press) else action.url) == wanted[1]


@SHORT
@given(ASKED)
def test_other_arguments_are_read_as_webarena_reads_them(text: str) -> None:
    for verb, read in (("press", id_action_set._press), ("goto", id_action_set._goto)):
        read_alike(read, text, re.search(rf"{verb} ?\[(.+)\]", text))
    stopped = re.search(r"stop ?\[(.+)\]", text)
    assert id_action_set._stop(text) == Stop(answer=stopped[1] if stopped else "")


@SHORT
@given(CODED)
def test_code_is_read_as_webarena_reads_it(code: str) -> None:
    for call, read in (("press", playwright_action_set._press), ("goto", playwright_action_set._goto)):
        read_alike(read, code, re.search(rf"(?:{call})\([\"'](.+?)[\"']\)", code))
    stopped = re.search(r"stop\(?\"(.+)?\"\)", code)
    assert playwright_action_set._stop(code) == Stop(answer=(stopped[1] or "") if stopped else "")


@SHORT
@given(JUDGED)
def test_a_verdict_is_read_as_one_pattern_would(reply: str) -> None:
    lines = [line for line in reply.splitlines() if line.strip()]
    plain = re.sub(r"^[\s*_`'\"#>.-]+|[\s*_`'\".!]+$", "", lines[-1]).lower() if lines else ""
    if plain in ("correct", "same"):
        assert last_word(reply, ("correct", "same")) == plain
    else:
        with pytest.raises(Exception, match="last line is none of"):
            last_word(reply, ("correct", "same"))


@SHORT
@given(pieces("[Result] (PASS) ", "[Result] (FAIL) ", "config/", "12", "3", ".json", "x", " ", "."))
def test_a_verdict_in_a_log_is_found_as_before(log: str) -> None:
    before = re.compile(r"\[Result\] \((PASS|FAIL)\) \S*?(\d+)\.json")
    assert list(verdicts_in(log)) == [(task, verdict) for verdict, task in before.findall(log)]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Cookie: express:sess=eyJhIjoxfQ; b=2", "Cookie: [redacted:credential~]"),
        (f"Cookie: {'n' * 256}=secret", "Cookie: [redacted:credential~]"),
        ("cookie:cookie:cookie:a=secret", "cookie:[redacted:credential~]"),
        ("Set-Cookie: id=1; Path=/; HttpOnly", "Set-Cookie: [redacted:credential~]"),
        ("ésk-abcdefghijklmnop1234", "é[redacted:credential~]"),
        ("key sk-proj-abcdefghij_1234567", "key [redacted:credential~]"),
        ("ask-abcdefghijklmnop1234", "ask-abcdefghijklmnop1234"),
        ("Authorization: Bearer abcdef", "Authorization: [redacted:credential~]"),
    ],
)
def test_what_only_a_pattern_knows_is_still_taken_out(text: str, kept: str) -> None:
    assert Redactor().text(text) == kept
