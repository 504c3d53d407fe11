"""What a renderer gives is shown to the agent and recorded beside the text that pages are compared by."""

from typing import Any

import pytest

from harness.codec import decode, encode
from harness.episode.decision import MOST_SHOWN_CHARS, with_shown
from harness.errors import PluginFailed
from harness.records import LiveObservation
from harness.testing import observation
from tests.journal.episodes import acted

SEEN = observation("[1] link 'Tea'")


class Says:
    def __init__(self, text: Any) -> None:
        self.text = text

    def render(self, observation: LiveObservation, /) -> str:
        return self.text  # type: ignore[no-any-return]


def shown(text: Any) -> str:
    return with_shown(SEEN, Says(text)).observation.shown_text


def test_it_stands_below_the_tabs() -> None:
    assert shown("tea: 1") == "Tab 0 (current): Page\n\ntea: 1"
    assert with_shown(SEEN, Says("x")).observation.text == SEEN.observation.text
    assert with_shown(SEEN, None) is SEEN


def test_it_can_be_recorded_whatever_it_holds() -> None:
    view = with_shown(SEEN, Says("lone \ud800 and " + "n" * 3_000_000))
    assert len(view.observation.shown_text) < MOST_SHOWN_CHARS + 200
    view.observation.shown_text.encode()


@pytest.mark.parametrize("text", [None, 3, b"bytes", ["line"]])
def test_what_is_no_text_is_refused(text: Any) -> None:
    with pytest.raises(PluginFailed, match="the renderer of observations returned"):
        with_shown(SEEN, Says(text))


def test_a_line_without_it_is_as_before() -> None:
    assert b"shown" not in encode(acted(1)).body
    record = decode(encode(acted(1)).body)
    assert record == acted(1)
