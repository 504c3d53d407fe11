from dataclasses import dataclass

from harness.trees import each_text, leaves


@dataclass(frozen=True)
class Quoted:
    text: str
    number: int


def test_each_text_is_changed_wherever_it_stands() -> None:
    tree = {"a": ["b", 1, {"c": None}], "d": Quoted("e", 2)}
    assert each_text(tree, str.upper) == {"A": ["B", 1, {"C": None}], "D": Quoted("E", 2)}
    assert each_text(tree, str.upper, keys=False) == {"a": ["B", 1, {"c": None}], "d": Quoted("E", 2)}


def test_leaves_have_their_place() -> None:
    assert list(leaves({"a": [1, {"b": "x"}], "c": {}})) == [(("a", "0"), 1), (("a", "1", "b"), "x")]
