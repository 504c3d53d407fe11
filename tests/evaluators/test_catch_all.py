"""An answer that names everything is no answer; one that explains itself is."""

import pytest

from harness.evaluators.catch_all import names_everything, without_labels

ORDERS = "order 170 of 5 may 2023 came to $365.42, order 189 of 6 may 2023 to $97.15 and order 188 to $2,004.20"
HONEST = {
    "a sentence": (["45"], "you may return unused items within 45 days of delivery, by section 4 of the terms"),
    "a table in words": (["365.42", "97.15"], ORDERS),
    "a numbered list": (["4"], "1. watering can\n2. hose\n3. trowel\n4. pot\nso there are 4 in stock"),
    "as many as asked for": (["1", "5", "7", "9", "12", "15"], "1, 5, 7, 9, 12, 15"),
    "two dates beside it": (["65.2"], "65.2 (orders of 2022-01-15 and 2022-02-20)"),
    "dates with slashes": (["12"], "12 orders, between 01/05/2023, 02/05/2023"),
    "five guesses": (["3"], "1, 2, 3, 4, 5"),
    "numbers of a reference that is no number": (["anker 30w 711 charger", "10.99"], "anker 30w 711 charger, 10.99"),
    "a phone number": (["4"], "4 stars; call +33 1 23 45 67 89, 75008 paris, or 01 23 45 67 89 (room 12)"),
    "two phone numbers": (["412"], "412, by phone: +1 (650) 555-0100, +1 (650) 555-0199"),
    "a breakdown of a sum": (
        ["47.41"],
        "; ".join(f"{n} × item {n} for ${n}.9{n % 10}" for n in range(1, 13)) + ": $47.41",
    ),
    "many words": (["leather"], "the description says that it is made of leather. " * 19),
    "no number asked for": (["olive_press"], "olive_press wrote it on 2026-01-05 at 12:30 as post 4 of 9 in 3 threads"),
}
EVERYTHING = {
    "counting": (["3"], "0, 1, 2, 3, 4, 5, 6"),
    "counting with words": (["3"], " ".join(f"maybe {number} lamps" for number in range(13))),
    "counting where one of two is right": (["65 |OR| 3"], " ".join(f"maybe {number} lamps" for number in range(13))),
    "counting with fractions": (["3"], " ".join(f"maybe {number}.0 lamps" for number in range(13))),
    "counting like a phone number": (["13"], "+1 10 11 12 13 14 15 16 17 18 19"),
    "prices one after the other": (["3.45"], " ".join(f"maybe {cents / 100:.2f}" for cents in range(300, 350))),
    "counting with or": (["3"], "0 or 1 or 2 or 3 or 4 or 5"),
    "a list that looks like dates": (["5"], "1-2-3, 4-5-6, 7-8-9"),
    "in another order": (["3"], "5 3 9 1 7 2"),
    "a page": (["leather"], "home cart search help about " * 40 + "leather"),
    "a long page with what is asked for twice": (["leather"], "leather " + "home cart " * 120 + "leather"),
}


@pytest.mark.parametrize(("phrases", "text"), HONEST.values(), ids=HONEST)
def test_an_honest_answer_is_not_too_wide(phrases: list[str], text: str) -> None:
    assert names_everything(phrases, text, "") == ""


@pytest.mark.parametrize(("phrases", "text"), EVERYTHING.values(), ids=EVERYTHING)
def test_a_list_of_everything_is(phrases: list[str], text: str) -> None:
    assert "to this question" in names_everything(phrases, text, "")


def test_numbers_of_the_question_are_not_counted() -> None:
    intent = "Which of 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 is even?"
    text = " and of ".join(f"the {number}" for number in range(1, 17))
    assert names_everything(["2"], text, intent) == ""
    assert names_everything(["2"], text, "") != ""


def test_ids_of_copied_observation_lines_are_no_numbers_of_an_answer() -> None:
    copied = "[44] navigation 'shop'\n\t[45] button 'categories' expanded: false"
    assert "45" not in without_labels(copied) and "button 'categories'" in without_labels(copied)
    for honest in ("[45]", "[45] days", "within [45] days of 'delivery'"):
        assert without_labels(honest) == honest


def test_numbers_of_a_list_are_labels_and_a_short_answer_is_none() -> None:
    listed = "".join(f"{number}. lamp\n" for number in range(13))
    assert "3" not in without_labels(listed)
    assert without_labels("1. lamp\n2. hose\n3. pot\nso there are 3") == " lamp\n hose\n pot\nso there are 3"
    for short in ("3. that is all", "1. lamp\n2. hose", "2) pots\n7) lamps\n3) hoses"):
        assert without_labels(short) == short
