"""Nodes and rectangles in, text out."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.browser.ax_node import AXNode
from harness.browser.rendering import tree_cairn, tree_webarena
from harness.browser.rendering.similarity import is_actionable
from harness.browser.rendering.tree import RenderedTree

GOLDEN = Path(os.environ.get("GOLDEN_DIR", Path(__file__).parents[3] / "shared" / "golden"))
VIEWPORT = (1280, 720)


def golden(name: str) -> list[dict[str, Any]]:
    path = GOLDEN / name
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def label(node: AXNode) -> str:
    return str(node["nodeId"])


def ax(key: int, role: str, name: str = "", *children: int, **more: Any) -> dict[str, Any]:
    """One node; keyword arguments are properties, `value` and `parent` aside."""
    node: dict[str, Any] = {
        "nodeId": str(key),
        "ignored": False,
        "role": {"value": role},
        "name": {"value": name},
        "childIds": [str(child) for child in children],
        "backendDOMNodeId": key,
    }
    if "value" in more:
        node["value"] = {"value": more.pop("value")}
    node["properties"] = [{"name": name, "value": {"value": value}} for name, value in more.items()]
    return node


def adopt(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for node in nodes:
        for child in nodes:
            if child["nodeId"] in node["childIds"]:
                child["parentId"] = node["nodeId"]
    return nodes


def everywhere(nodes: list[dict[str, Any]], **boxes: tuple[float, float, float, float]) -> Mapping[str, Any]:
    """A box in view for every node, except those given as `_KEY`."""
    return {node["nodeId"]: (0.0, 0.0, 100.0, 20.0) for node in nodes} | {k[1:]: box for k, box in boxes.items()}


def webarena(nodes: list[dict[str, Any]], **boxes: tuple[float, float, float, float]) -> RenderedTree:
    adopt(nodes)
    return tree_webarena.print_tree(nodes, everywhere(nodes, **boxes), viewport=VIEWPORT, label=label)


def cairn(nodes: list[dict[str, Any]], **boxes: tuple[float, float, float, float]) -> str:
    adopt(nodes)
    return tree_cairn.print_tree(nodes, everywhere(nodes, **boxes), viewport=VIEWPORT, label=label).text


@pytest.mark.sample(40)
@pytest.mark.skipif(not GOLDEN.is_dir(), reason=f"no recorded WebArena outputs at {GOLDEN} (set GOLDEN_DIR)")
@pytest.mark.parametrize("number", range(len(golden("ax_text.jsonl"))))
def test_webarena_dialect_agrees_with_webarena(number: int) -> None:
    case = golden("ax_text.jsonl")[number]
    rects = {key: tuple(rect) for key, rect in case["rects"].items() if isinstance(rect, list)}
    viewport = tuple(case["screen"]) if case["current_viewport_only"] else None
    if "error" in case:
        with pytest.raises(KeyError) as caught:
            tree_webarena.print_tree(case["nodes"], rects, viewport=viewport, label=label)
        assert str(caught.value) == case["error"]["msg"]
        return
    printed = tree_webarena.print_tree(case["nodes"], rects, viewport=viewport, label=label)
    assert printed.raw == case["text_before_cleanup"]
    assert printed.text == case["text"]
    shown = {key: {"text": f"[{key}] {one.line}", "bound": one.box} for key, one in printed.shown.items()}
    assert shown == {
        key: {"text": one["text"], "bound": None if one["bound"] is None else tuple(one["bound"])}
        for key, one in case["clickable"].items()
    }
    for key, center in case["centers"].items():
        box = printed.shown[key].box
        if isinstance(center, dict):
            assert box is None
            continue
        assert box is not None
        width, height = case["screen"]
        assert [(box[0] + box[2] / 2) / width, (box[1] + box[3] / 2) / height] == center


def test_webarena_dialect_puts_the_children_of_an_unseen_node_in_its_place() -> None:
    nodes = [ax(1, "RootWebArea", "P", 2, 5), ax(2, "list", "", 3, 4), ax(3, "link", "a"), ax(4, "link", "b")]
    printed = webarena([*nodes, ax(5, "link", "c")], _2=(0, 900, 10, 10))
    assert printed.text == "[1] RootWebArea 'P'\n\t[3] link 'a'\n\t[4] link 'b'\n\t[5] link 'c'"


def test_webarena_dialect_compares_text_with_three_whole_lines() -> None:
    nodes = [ax(1, "RootWebArea", "P", *range(2, 8)), *(ax(key, "link", "xABCD"[key - 1]) for key in range(2, 6))]
    nodes += [ax(6, "StaticText", "A"), ax(7, "StaticText", "B")]
    assert webarena(nodes).text.endswith("\t[6] StaticText 'A'\n\t[7] StaticText 'B'")
    hidden_by_an_id = [ax(1, "RootWebArea", "P", 25, 30), ax(25, "link", "Reviews"), ax(30, "StaticText", "5")]
    assert "StaticText" not in webarena(hidden_by_an_id).text


def test_webarena_dialect_multiplies_by_the_height() -> None:
    nodes = [ax(1, "RootWebArea", "P", 2, 3), ax(2, "link", "tall"), ax(3, "link", "flat")]
    text = webarena(nodes, _2=(0, 719, 100, 5000), _3=(0, 0, 1000, 0.7)).text
    assert "tall" in text
    assert "flat" not in text


def test_cairn_dialect_keeps_a_container_whose_contents_are_seen() -> None:
    nodes = [ax(1, "RootWebArea", "P", 2), ax(2, "form", "", 3, 4), ax(3, "link", "in"), ax(4, "link", "out")]
    text = cairn(nodes, _2=(0, 900, 10, 10), _4=(0, 900, 10, 10))
    assert text == "[1] RootWebArea 'P'\n\t[2] form ''\n\t\t[3] link 'in'"


def test_cairn_dialect_counts_visible_area_not_height() -> None:
    nodes = [ax(1, "RootWebArea", "P", *range(2, 6)), *(ax(key, "link", "xabcd"[key - 1]) for key in range(2, 6))]
    boxes = {"_2": (0, 719, 100, 5000), "_3": (0, 0, 1000, 0.5), "_4": (0, 0, 0, 20), "_5": (0, 720, 10, 10)}
    assert cairn(nodes, **boxes) == "[1] RootWebArea 'P'\n\t[2] link 'a'\n\t[3] link 'b'"


def test_cairn_dialect_drops_text_only_where_a_name_says_it() -> None:
    nodes = [
        ax(1, "RootWebArea", "Price list 5", 2, 4, 5),
        ax(2, "link", "Reviews (5)", 3),
        ax(3, "StaticText", "Reviews"),
        ax(4, "StaticText", "5"),
        ax(5, "StaticText", "Price list 5"),
    ]
    text = cairn(nodes)
    assert "StaticText 'Reviews'" not in text
    assert "StaticText '5'" in text
    assert "StaticText 'Price list 5'" in text


@pytest.mark.parametrize("role", ["DisclosureTriangle", "DisclosureTriangleGrouped"])
def test_a_summary_is_named_by_its_content_and_acted_on_also_in_a_group(role: str) -> None:
    text = cairn([ax(1, "RootWebArea", "P", 2), ax(2, role, "More about it", 3), ax(3, "StaticText", "More")])
    assert text == f"[1] RootWebArea 'P'\n\t[2] {role} 'More about it'"
    assert is_actionable(f"{role} 'More about it'")


def test_cairn_dialect_does_not_take_half_a_word_for_said() -> None:
    nodes = [ax(1, "RootWebArea", "P", 2), ax(2, "link", "Item 15", 3), ax(3, "StaticText", "5")]
    assert "StaticText '5'" in cairn(nodes)


def test_cairn_dialect_keeps_depth_consistent_below_dropped_text() -> None:
    nodes = [
        ax(1, "RootWebArea", "P", 2),
        ax(2, "link", "a b", 3),
        ax(3, "StaticText", "a", 4),
        ax(4, "image", "pic"),
    ]
    assert cairn(nodes) == "[1] RootWebArea 'P'\n\t[2] link 'a b'\n\t\t[4] image 'pic'"


@pytest.mark.parametrize(
    ("value", "text", "printed"),
    [
        (16777216, "16777217", "value: 16777217"),
        (19.989999771118164, "19.99", "value: 19.99"),
        (5.099999904632568, "5.10", "value: 5.10"),
        (1000, "1e3", "value: 1e3"),
        (0.4000000059604645, None, "value: 0.4"),
        (99999997952, None, "value: 100000000000"),
        (0.30000001192092896, "0.31", "value: 0.3 valuetext: '0.31'"),
        (3, "medium", "value: 3 valuetext: 'medium'"),
        (3, "٣", "value: 3 valuetext: '٣'"),
        (19.99, None, "value: 19.99"),
    ],
)
def test_cairn_dialect_prints_the_number_that_chromium_rounded(value: float, text: str | None, printed: str) -> None:
    field = ax(2, "spinbutton", "Price", value=value, **({} if text is None else {"valuetext": text}))
    assert cairn([ax(1, "RootWebArea", "P", 2), field]) == f"[1] RootWebArea 'P'\n\t[2] spinbutton 'Price' {printed}"


def test_cairn_dialect_prints_the_limits_that_chromium_rounded() -> None:
    field = ax(2, "slider", "Price", value=0, valuemin=0.10000000149011612, valuemax=99.98999786376953)
    assert cairn([ax(1, "RootWebArea", "P", 2), field]).endswith("value: 0 valuemin: 0.1 valuemax: 99.99")


def test_cairn_dialect_prints_values_once() -> None:
    nodes = [
        ax(1, "RootWebArea", "P", 2),
        ax(2, "textbox", "Name", 3, value="Ann 'x'", required=True),
        ax(3, "generic", "", 4),
        ax(4, "StaticText", "Ann 'x'"),
    ]
    assert cairn(nodes) == "[1] RootWebArea 'P'\n\t[2] textbox 'Name' value: \"Ann 'x'\" required: True"


def test_cairn_dialect_lists_the_options_of_a_closed_list() -> None:
    nodes = [
        ax(1, "RootWebArea", "P", 2),
        ax(2, "combobox", "Size", 3, value="M", hasPopup="menu", expanded=False),
        ax(3, "MenuListPopup", "", 4, 5),
        ax(4, "option", "S", selected=False),
        ax(5, "option", "M", selected=True),
    ]
    nothing = (0.0, 0.0, 0.0, 0.0)
    assert cairn(nodes, _3=nothing, _4=nothing, _5=nothing) == (
        "[1] RootWebArea 'P'\n\t[2] combobox 'Size' value: 'M' expanded: False hasPopup: menu\n"
        "\t\t[4] option 'S'\n\t\t[5] option 'M' selected: True"
    )
    away = (0.0, 900.0, 10.0, 10.0)
    assert "option" not in cairn(nodes, _2=away, _3=nothing, _4=nothing, _5=nothing)


def test_a_very_deep_tree_is_printed() -> None:
    nodes = [ax(key, "form", "f", key + 1) for key in range(1, 3000)]
    adopt_chain = {"1": ""} | {str(key + 1): str(key) for key in range(1, 3000)}
    for node in nodes:
        node["parentId"] = adopt_chain[node["nodeId"]]
    printed = tree_webarena.print_tree(nodes, everywhere(nodes), viewport=VIEWPORT, label=label)
    assert printed.text.count("\n") == 2998
