"""Made-up answers with references: numbers, texts, lists and objects in every form that the score tells apart.

Negative numbers are in pairs of their own (`negative`), as the original gives more than 1 for most of them.
"""

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

WORDS = "Harbor Mug the a an Field café naïve Straße İstanbul 東京 New-York U.S. St. of $5 7% 3 10.0 1,200 ½ ² ٣ ... - o'clock".split()
NUMBERS = [
    *"0 1 3 8 12 0.5 3.0 1e3 1,5 $14 7% 120sqft 1_000 ٣ 0.0001 nan inf 1e400 99999999".split(),
    *("120 sqft", "4 square kilometers", " 3 ", "3\u00a0", "1" * 400),
]
ODD = [
    *("", " ", "\u2003", "null", "true", "false", "[]", "{}", "[null]", "[true]", "[[]]", "[[3]]", "[{}]", "NaN", "-0"),
    *(
        "Infinity",
        '""',
        '"3"',
        '"[3]"',
        '["3"]',
        '["08"]',
        "[1]",
        '["½"]',
        '["3.5"]',
        "[3.5]",
        '["", null]',
        "[",
        "x\0y",
    ),
    *('[{"a": 1}, {}]', '[{"a": 1}, 3]', '{"a": 1}\n{}', '{"a": null}', '{"a": {"b": 1}}', '{"a": []}', "1" * 400),
    *(
        f"[{'1' * 400}]",
        f'{{"a": {"1" * 400}}}',
        f"1{'0' * 5000}",
        "[" * 2000 + "]" * 2000,
        "\ud83d\ude00",
        "a\u2028b",
        "\\n",
    ),
]
KEYS = ("name", "price", "year", "area", "tags")


class Maker:
    def __init__(self, seed: int) -> None:
        self.draw = Random(seed)

    def words(self, most: int = 5) -> str:
        return " ".join(self.draw.choice(WORDS) for _ in range(self.draw.randint(1, most)))

    def number(self) -> str:
        return self.draw.choice([*NUMBERS, str(self.draw.randint(0, 40)), f"{self.draw.uniform(0, 40):.2f}"])

    def field(self) -> Any:
        kinds: list[Callable[[], Any]] = [
            *(self.words, self.number, lambda: self.draw.randint(0, 20), lambda: self.draw.uniform(0, 20)),
            *(lambda: [self.words(2) for _ in range(self.draw.randint(0, 3))], lambda: self.draw.choice([True, False])),
        ]
        odd: list[Any] = [None, [], [1, "a"], {"a": 1}, 10**400, float("nan"), float("inf"), ""]
        return self.draw.choice(odd) if self.draw.random() < 0.06 else self.draw.choice(kinds)()

    def object(self, least: int = 1) -> dict[str, Any]:
        return {key: self.field() for key in self.draw.sample(KEYS, self.draw.randint(least, 4))}

    def near(self, text: str) -> str:
        """The text with a word more, less or changed."""
        words = text.split(" ")
        place = self.draw.randrange(len(words))
        words[place : place + self.draw.randint(0, 1)] = [self.draw.choice(WORDS)] * self.draw.randint(0, 2)
        return self.draw.choice([" ".join(words), text.upper(), text, f"The {text}."])

    def changed(self, one: dict[str, Any]) -> dict[str, Any]:
        return {
            key: value if self.draw.random() < 0.6 else self.field()
            for key, value in one.items()
            if self.draw.random() < 0.9
        }

    def numbers(self) -> tuple[str, str]:
        wanted = self.number()
        near = [wanted, self.number(), f"${wanted}", f"[{wanted}]", f'["{wanted}"]', f'"{wanted}"', self.words(2)]
        return self.draw.choice([*near, *ODD]), wanted

    def texts(self) -> tuple[str, str]:
        wanted = self.words()
        return self.draw.choice(
            [self.near(wanted), self.words(), json.dumps([wanted]), self.number(), *ODD[:20]]
        ), wanted

    def lists(self) -> tuple[str, str]:
        wanted = [self.words(3) for _ in range(self.draw.randint(2, 6))]
        found = [self.near(one) for one in wanted] + [self.words(2) for _ in range(self.draw.randint(0, 2))]
        self.draw.shuffle(found)
        return self.draw.choice(
            [json.dumps(found), "\n".join(found), json.dumps([*found, None]), *ODD[:20]]
        ), "\n".join(wanted)

    def objects(self) -> tuple[str, str]:
        wanted = [self.object() for _ in range(self.draw.randint(1, 4))]
        found = [self.changed(one) for one in wanted] + [self.object(0) for _ in range(self.draw.randint(0, 1))]
        self.draw.shuffle(found)
        as_lines = "\n".join(json.dumps(one) for one in found)
        reference = "\n".join(self.draw.choice([json.dumps, str])(one) for one in wanted)
        return self.draw.choice([json.dumps(found)] * 4 + [as_lines] * 4 + [self.words(), *ODD[:34:4]]), reference

    def odd(self) -> tuple[str, str]:
        return self.draw.choice(ODD), self.draw.choice([*ODD, self.number(), self.words(), json.dumps(self.object())])

    def long(self) -> tuple[str, str]:
        """Lists and texts beyond what was cut once: 200 items, 20,000 characters."""
        items = [f"mug {self.draw.randint(0, 9999)} of {number}" for number in range(self.draw.choice([3, 201, 260]))]
        wanted = self.draw.sample(items, self.draw.randint(2, min(12, len(items))))
        text = " ".join(f"w{number}" for number in range(5000))
        return self.draw.choice([(json.dumps(items), "\n".join(wanted)), ("\n".join(items), wanted[0]), (text, text)])


def cases(seed: int, count: int) -> Iterator[tuple[str, str]]:
    make = Maker(seed)
    kinds = [*[make.numbers] * 6, *[make.texts] * 6, *[make.lists] * 6, *[make.objects] * 8, *[make.odd] * 6]
    for number in range(count):
        yield make.long() if number % 200 == 199 else kinds[number % len(kinds)]()


def negative(seed: int, count: int) -> Iterator[tuple[float, float]]:
    """Numbers below 0, answer and reference."""
    draw = Random(seed)
    for _ in range(count):
        wanted = -draw.uniform(0.1, 50)
        yield draw.choice([wanted, -wanted, wanted * draw.uniform(0.2, 4), -draw.uniform(0, 60), float("-inf")]), wanted
