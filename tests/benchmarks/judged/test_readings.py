"""Made-up replies of judges are read as the published code reads them."""

from collections import Counter

import pytest

from harness.api import EvaluatorError
from harness.plugins.browsecomp import published_grader
from harness.plugins.online_mind2web import published_webjudge
from harness.plugins.webvoyager import published_screenshots
from tests.benchmarks.judged import made_up, published_rules

COUNT = 800


def test_ratings_and_notes_are_read_as_published() -> None:
    found = Counter[int]()
    for reply in made_up.ratings(1, COUNT):
        score, note = published_webjudge.rating(reply)
        assert score == published_rules.rating(reply), reply
        if score:
            assert note == published_rules.note(reply), reply
        found[score] += 1
    assert all(found[score] >= 40 for score in range(6)), found


@pytest.mark.parametrize(
    ("written", "score"),
    [("4/5", 4), ("4.0", 4), ("[5]", 5), ("4 out of 5", 4), ("5 - partial", 5), ("**3**", 3), ("6", 0), ("", 0)],
)
def test_a_rating_is_read_in_the_forms_that_judges_write(written: str, score: int) -> None:
    reply = f"1. **Reasoning**: A filter\nis set.\n\nMore.\n2. **Score**: {written}"
    assert published_webjudge.rating(reply) == (score, "A filter is set." if score else "")


def test_a_digit_after_an_earlier_score_is_the_rating_as_published() -> None:
    assert published_webjudge.rating("**Reasoning**: A Score of 1 is too low.\n\n**Score**: 5")[0] == 1
    assert published_webjudge.rating("**Reasoning**: Scores vary.\n\n**Score**: 5")[0] == 0


def test_key_points_are_cut_as_published() -> None:
    for reply in made_up.points(2, COUNT):
        assert published_webjudge.key_points(reply) == published_rules.key_points(reply), reply


def test_verdicts_of_webjudge_are_read_as_published() -> None:
    found = Counter[bool]()
    for reply in made_up.verdicts(3, COUNT):
        passed = published_webjudge.is_success(reply)
        assert passed is published_rules.status_is_success(reply), reply
        found[passed] += 1
    assert min(found[True], found[False]) >= 100, found
    assert published_webjudge.is_success('Thoughts: All key points are met.\nStatus: "success"')


def test_verdicts_of_webvoyager_are_read_as_published() -> None:
    found = Counter[bool | None]()
    for reply in made_up.verdicts(4, COUNT):
        passed: bool | None = None
        try:
            passed = published_screenshots.is_success(reply)
        except EvaluatorError as error:
            assert "neither SUCCESS nor NOT SUCCESS" in str(error)
        assert passed is published_rules.says_success(reply), reply
        found[passed] += 1
    assert min(found[passed] for passed in (True, False, None)) >= 40, found


def test_grades_of_browsecomp_are_read_as_they_were_meant() -> None:
    found = Counter[bool]()
    for reply in made_up.grades(5, COUNT):
        passed = published_grader.is_correct(reply)
        assert passed is published_rules.is_graded_correct(reply), reply
        found[passed] += 1
    assert min(found[True], found[False]) >= 100, found


def test_an_answer_ends_where_the_published_pattern_ends() -> None:
    for answer in made_up.answers(6, COUNT):
        assert published_screenshots.judged_answer(answer) == published_rules.answer_read(answer), repr(answer)
    assert published_screenshots.judged_answer("See [1] and [2]") == "See [1"
