"""Task files become checked tasks, or one sentence with file, task and field."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.choices import AT_LEAST_ONE, ValueRange
from harness.codec import dumps, loads
from harness.episode.job import task_digest
from harness.errors import TaskError
from harness.records import HtmlTarget
from harness.tasks import load

SITES = {"shop": "http://shop.localhost/", "forum": "http://forum.localhost"}


def raw(task_id: Any = 0, **changes: Any) -> dict[str, Any]:
    task = {
        "task_id": task_id,
        "sites": ["shop"],
        "intent": "Find the lamp",
        "start_url": "__SHOP__/lamps",
        "eval": {"eval_types": ["string_match"], "reference_answers": {"exact_match": "Lamp"}},
    }
    return task | changes


def judged(**changes: Any) -> dict[str, Any]:
    return raw(eval={"eval_types": ["string_match"], "reference_answers": {"exact_match": "Lamp"}} | changes)


def target(**contents: Any) -> dict[str, Any]:
    return {"url": "last", "locator": "", "required_contents": contents}


def write(folder: Path, *tasks: Any, name: str = "tasks.json") -> Path:
    file = folder / name
    file.write_text(json.dumps(list(tasks)))
    return file


def test_a_task_is_read_with_its_placeholders_expanded(tmp_path: Path) -> None:
    task = raw(
        "shop-1",
        sites=["shop", "forum"],
        start_url="__SHOP__/a |AND| __FORUM__",
        require_login=True,
        storage_state="./.auth/shop_state.json",
        geolocation={"latitude": 40, "longitude": -79.9},
        intent_template="Find {{x}}",
        intent_template_id=7,
        instantiation_dict={"x": "__SHOP__/lamp"},
        difficulty="hard",
        eval={
            "eval_types": ["string_match", "url_match", "program_html"],
            "reference_answers": {"must_include": ["a", "b"], "fuzzy_match": "N/A"},
            "reference_url": "__SHOP__/a |OR| __FORUM__/b",
            "url_note": "GOLD in PRED",
            "string_note": "there is none",
            "annotation_note": "n",
            "program_html": [
                {
                    "url": "func:reddit_get_post_url('__last_url__')",
                    "locator": "func:gitlab_get_project_memeber_role(__page__, 'anna')",
                    "required_contents": {"exact_match": ""},
                    "prep_actions": ["document.body.click()"],
                    "remark": "r",
                },
                {"url": "__FORUM__/f", "locator": "", "required_contents": {"must_include": ["x |OR| y"]}},
            ],
        },
    )
    (loaded,) = load(write(tmp_path, task), SITES)
    assert loaded.task_id == "shop-1"
    assert loaded.start_urls == ("http://shop.localhost/a", "http://forum.localhost")
    assert loaded.storage_state == str(tmp_path / ".auth" / "shop_state.json")
    assert loaded.geolocation == {"latitude": 40.0, "longitude": -79.9}
    assert (loaded.intent_template_id, loaded.instantiation_dict) == ("7", {"x": "http://shop.localhost/lamp"})
    assert loaded.eval.reference_url == "http://shop.localhost/a |OR| http://forum.localhost/b"
    assert loaded.eval.program_html == (
        HtmlTarget(
            url="func:reddit_get_post_url('__last_url__')",
            locator="func:gitlab_get_project_memeber_role(__page__, 'anna')",
            exact_match="",
            prep_actions=("document.body.click()",),
        ),
        HtmlTarget(url="http://forum.localhost/f", must_include=("x |OR| y",)),
    )
    assert loaded.metadata == {
        "difficulty": "hard",
        "eval.annotation_note": "n",
        "eval.program_html[0].remark": "r",
    }
    assert loads(dumps(loaded.eval.reference_answers)) == loaded.eval.reference_answers


def test_an_address_cannot_break_the_files_syntax(tmp_path: Path) -> None:
    (loaded,) = load(write(tmp_path, raw(intent='Say "__SHOP__"')), {"shop": 'http://a.test/"\\'})
    assert loaded.intent == 'Say "http://a.test/"\\"'


def test_a_relative_task_path_gives_an_absolute_storage_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, raw(storage_state=".auth/a_state.json"))
    monkeypatch.chdir(tmp_path)
    (loaded,) = load("tasks.json", SITES)
    assert loaded.storage_state == str(tmp_path / ".auth" / "a_state.json")


@pytest.mark.parametrize(
    ("said", "read"), [(None, None), (True, True), (False, False), ([], ()), (["shop"], ("shop",))]
)
def test_what_a_task_changes_is_all_of_its_sites_none_or_some(tmp_path: Path, said: Any, read: Any) -> None:
    (loaded,) = load(write(tmp_path, raw(mutates=said)), SITES)
    assert loaded.mutates == read


WRONG = {
    "intent` is missing": raw(intent=None),
    "intent` is empty": raw(intent=" "),
    "intent` must be a string, not 5": raw(intent=5),
    "sites` must be a list of strings": raw(sites="shop"),
    "sites[0]` must be a string": raw(sites=[1]),
    "start_url` is missing": raw(start_url=None),
    "start_url` contains 'shop.test'": raw(start_url="shop.test"),
    "start_url` contains 'file:///etc/passwd'": raw(start_url="__SHOP__ |AND| file:///etc/passwd"),
    "require_login` must be true or false": raw(require_login="yes"),
    "mutates` must be true or false": raw(mutates="shop"),
    "mutates` names forum, which is not among": raw(mutates=["shop", "forum"]),
    "mutates[0]` must be a string": raw(mutates=[1]),
    "storage_state` is '/etc/passwd'": raw(storage_state="/etc/passwd"),
    "geolocation` must contain latitude": raw(geolocation={"latitude": 1}),
    "geolocation.latitude` is 91": raw(geolocation={"latitude": 91, "longitude": 0}),
    "instantiation_dict` must be an object": raw(instantiation_dict=[]),
    "eval` is missing": raw(eval=None),
    "eval` must be an object": raw(eval=[]),
    "eval.eval_types` is empty": judged(eval_types=[]),
    "eval.eval_types` contains 'vqa'": judged(eval_types=["vqa"]),
    "eval.reference_answers` is a list, as in WebArena's oldest examples": judged(reference_answers=["Lamp"]),
    "eval.reference_answers` is empty, but eval_types contains string_match": judged(reference_answers=None),
    "eval.reference_answers.required_values` is not a known kind": judged(reference_answers={"required_values": ["1"]}),
    "eval.reference_answers.must_include` must be a list": judged(reference_answers={"must_include": "a"}),
    "eval.reference_answers.fuzzy_match` must be a list": judged(reference_answers={"fuzzy_match": "n/a"}),
    "eval.reference_answers.must_include` has no text to look for": judged(reference_answers={"must_include": []}),
    "eval.reference_answers.must_include` has no text to look for, so": judged(
        reference_answers={"must_include": ["", " "]}
    ),
    "eval.reference_answers.fuzzy_match` has no text to look for": judged(reference_answers={"fuzzy_match": []}),
    "eval.program_html[1].required_contents.must_include` has no text to look for": judged(
        eval_types=["program_html"], program_html=[target(exact_match=""), target(must_include=["x |OR| "])]
    ),
    "eval.reference_url` is '   ', which has a blank alternative": judged(
        eval_types=["url_match"], reference_url="   "
    ),
    "eval.reference_url` is 'http://shop.localhost/a |OR| ', which has a blank alternative": judged(
        eval_types=["url_match"], reference_url="__SHOP__/a |OR| "
    ),
    "eval.url_note` is 'PRED in GOLD'": judged(url_note="PRED in GOLD"),
    "eval.reference_url` is empty, but": judged(eval_types=["url_match"], reference_url=""),
    "eval.reference_url` is 'http://[bad'": judged(reference_url="http://[bad"),
    "eval.program_html` is empty, but": judged(eval_types=["program_html"], program_html=[]),
    "eval.program_html[0]` must be an object": judged(program_html=["x"]),
    "eval.program_html[0].required_contents` must contain": judged(program_html=[target(fuzzy_match=None)]),
    "image` contains 'kayak.txt'; give an http(s) address": raw(image="kayak.txt"),
    "image` contains 'file:///etc/x.png'; give an http(s) address": raw(image=["file:///etc/x.png"]),
    "image[1]` must be a string": raw(image=["a.png", 7]),
    "image` must be a string": raw(image=7),
    "image` contains 17 pictures": raw(image=["a.png"] * 17),
    "images` is not read; write `image`": raw(images=["a.png", "b.png"]),
    "viewport_size` sets a viewport; remove it, and set browser.width": raw(viewport_size={"width": 1280}),
    "require_rest` is unknown, and ignoring it could give a wrong score; did you mean `require_reset`": raw(
        require_rest=True
    ),
    "cookies` is unknown, and ignoring it could give a wrong score; remove it, or move it to `metadata`": raw(
        cookies=[{"name": "a"}]
    ),
    "eval.page_image_query` asks about the images of a page": judged(page_image_query=[{"eval_image_url": "last"}]),
    "eval.eval_types` contains 'page_image_query'": judged(eval_types=["page_image_query"]),
    "eval.url_notes` is unknown, and ignoring it could give a wrong score; did you mean `url_note`": judged(
        url_notes="EXACT"
    ),
    "eval.url_note` is 'EXACT'": judged(url_note="EXACT"),
    "eval.reference_answers.must_exclude` is not a known kind": judged(
        reference_answers={"must_include": ["a"], "must_exclude": ["b"]}
    ),
    "eval.program_html[1].frame` is unknown": judged(
        program_html=[target(exact_match="x"), target(exact_match="x") | {"frame": "main"}]
    ),
    "eval.program_html[0].required_contents.must_exclude` is a kind of content that is not evaluated": judged(
        program_html=[target(must_include=["x"], must_exclude=["y"])]
    ),
    "eval.program_html[0].required_contents.required_values` is a kind of content that is not evaluated": judged(
        program_html=[target(required_values=["> 3"])]
    ),
    "eval.program_html[0].required_contents.exact_mach` is unknown, and ignoring it could give a wrong score; did you mean `exact_match`": judged(
        program_html=[target(must_include=["x"], exact_mach="y")]
    ),
    "eval.program_html[0].locator` starts with 'window.x'": judged(
        program_html=[{"url": "last", "locator": "window.x", "required_contents": {"exact_match": "x"}}]
    ),
    "eval.program_html[0].url` is 'javascript:1'": judged(
        program_html=[{"url": "javascript:1", "locator": "", "required_contents": {"exact_match": "x"}}]
    ),
    "start_url` needs the address of site shopping; give sites.shopping.url=… or set the environment variable SHOPPING": raw(
        start_url="__SHOPPING__/a"
    ),
    "eval.reference_answers.must_include[1]` needs the address of site map": judged(
        reference_answers={"must_include": ["a", "__MAP__"]}
    ),
}


@pytest.mark.parametrize("complaint", WRONG)
def test_a_wrong_field_is_named_with_file_and_task(tmp_path: Path, complaint: str) -> None:
    file = write(tmp_path, raw("fine"), WRONG[complaint] | {"task_id": "odd"})
    with pytest.raises(TaskError) as caught:
        load(file, SITES)
    assert str(caught.value).startswith(f"{file}: task odd: field `{complaint}")
    assert "\n" not in str(caught.value)


def test_a_blank_reference_is_read_where_it_is_a_whole_text_or_nothing_compares_with_it(tmp_path: Path) -> None:
    unused = judged(reference_url=" |OR| ", program_html=[target(must_include=[])])
    empty = raw(1, eval={"eval_types": ["string_match"], "reference_answers": {"exact_match": ""}})
    assert len(load(write(tmp_path, unused, empty), SITES)) == 2


@pytest.mark.parametrize("nothing", [None, "", [], {}])
def test_an_unknown_key_without_a_value_asks_for_nothing(tmp_path: Path, nothing: Any) -> None:
    keys = ("viewport_size", "anything")
    task = judged(page_image_query=nothing) | dict.fromkeys(keys, nothing) | {"image": nothing}
    (loaded,) = load(write(tmp_path, task), SITES)
    assert loaded.images == ()
    assert loaded.metadata == dict.fromkeys((*keys, "eval.page_image_query"), nothing)


def test_remarks_are_kept_and_never_refused(tmp_path: Path) -> None:
    remarks = {
        "reasoning_difficulty": "easy",
        "visual_difficulty": "medium",
        "overall_difficulty": "medium",
        "comments": "the red one",
        "old_task_id": 4,
        "string_note": "stray",
        "tags": ["a"],
        "_editor": {"by": "me"},
        "metadata": {"whatever": 1},
    }
    (loaded,) = load(write(tmp_path, judged(reference_answer_raw_annotation="$3", comment="c") | remarks), SITES)
    assert loaded.metadata == remarks | {"eval.reference_answer_raw_annotation": "$3", "eval.comment": "c"}


def test_a_task_that_is_not_asked_for_may_hold_what_is_not_done(tmp_path: Path) -> None:
    file = write(tmp_path, raw(0), raw(1, viewport_size={"width": 9}))
    assert [task.task_id for task in load(file, SITES, ids=0)] == ["0"]


@pytest.mark.parametrize(
    "task_id", [None, True, 1.5, "", ".hidden", "a/b", "..", "a b", "é", "x" * 65, "a\n", "5.trial-1", ["a"]]
)
def test_ids_that_could_not_be_file_names_are_refused(tmp_path: Path, task_id: Any) -> None:
    with pytest.raises(TaskError, match="task_id"):
        load(write(tmp_path, raw(task_id)), SITES)


def test_an_id_is_used_once_also_as_number_and_text(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"task id '7' is already used in .*entry 0"):
        load(write(tmp_path, raw(7), raw("7")), SITES)


def test_what_is_not_selected_may_lack_its_site(tmp_path: Path) -> None:
    file = write(tmp_path, raw(0), raw(1, start_url="__MAP__"))
    assert [task.task_id for task in load(file, SITES, ids=0)] == ["0"]


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ("0-1,3", ["0", "1", "3"]),
        (["3", "0-1"], ["0", "1", "3"]),
        ([3, 0], ["0", "3"]),
        (2, ["2"]),
        ("shop-1", ["shop-1"]),
        ("2-999", ["2", "3"]),
        ("3, 3 ,2-3", ["2", "3"]),
    ],
)
def test_ids_are_chosen_in_the_files_order(tmp_path: Path, ids: Any, expected: list[str]) -> None:
    file = write(tmp_path, *(raw(task_id) for task_id in [0, 1, 2, 3, "shop-1"]))
    assert [task.task_id for task in load(file, SITES, ids=ids)] == expected


@pytest.mark.parametrize("ids", [9, "0,9", "7-9", ["x"], "../0", "3-0"])
def test_ids_that_are_not_there_are_named(tmp_path: Path, ids: Any) -> None:
    file = write(tmp_path, raw(0), raw(1))
    with pytest.raises(TaskError, match=r"asks for .*, but the file contains 2 tasks, from 0 to 1"):
        load(file, SITES, ids=ids)


def test_wanted_sites_keep_tasks_that_need_no_others(tmp_path: Path) -> None:
    file = write(tmp_path, raw(0), raw(1, sites=["shop", "forum"]), raw(2, sites=["forum"]))
    assert [task.task_id for task in load(file, SITES, wanted_sites=["shop"])] == ["0"]
    assert len(load(file, SITES, wanted_sites=["shop", "forum"])) == 3
    with pytest.raises(TaskError, match="asks for gitlab, but its tasks use forum, shop"):
        load(file, SITES, wanted_sites=["gitlab"])


def test_limit_keeps_the_first(tmp_path: Path) -> None:
    file = write(tmp_path, raw(0), raw(1), raw(2))
    assert [task.task_id for task in load(file, SITES, ids="1-2", limit=1)] == ["1"]


def test_nothing_to_run_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="contains no tasks"):
        load(write(tmp_path), SITES)
    with pytest.raises(TaskError, match="no task is selected"):
        load(write(tmp_path, raw(0)), SITES, ids=[])


def test_a_folder_is_read_in_natural_order_and_only_its_numbered_files(tmp_path: Path) -> None:
    for number in (10, 9, 0):
        (tmp_path / f"{number}.json").write_text(json.dumps(raw(number)))
    (tmp_path / "test.raw.json").write_text(json.dumps([raw(0), raw(9)]))
    assert [task.task_id for task in load(tmp_path, SITES)] == ["0", "9", "10"]


def test_a_folder_without_numbered_files_gives_all_its_json_files(tmp_path: Path) -> None:
    for name in ("shop-10", "shop-9"):
        (tmp_path / f"{name}.json").write_text(json.dumps(raw(name)))
    assert [task.task_id for task in load(tmp_path, SITES)] == ["shop-9", "shop-10"]


def test_a_number_in_a_name_that_is_no_digit_is_a_letter(tmp_path: Path) -> None:
    for name in ("1²", "1"):
        (tmp_path / f"x{name}.json").write_text(json.dumps(raw(f"x{len(name)}")))
    assert [task.task_id for task in load(tmp_path, SITES)] == ["x1", "x2"]


def test_jsonl_is_read_line_by_line_and_its_bad_line_is_numbered(tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    text = json.dumps(raw("a", intent="one\u2028two"), ensure_ascii=False)
    file.write_text(f"{text}\n\n{json.dumps(raw('b'))}\n", encoding="utf-8")
    assert [task.task_id for task in load(file, SITES)] == ["a", "b"]
    file.write_text(f"{text}\n{{\n", encoding="utf-8")
    with pytest.raises(TaskError, match=r"tasks\.jsonl:2: is not valid JSON"):
        load(file, SITES)


def test_a_single_task_is_a_file_too(tmp_path: Path) -> None:
    file = tmp_path / "5.json"
    file.write_text(json.dumps(raw(5)))
    assert [task.task_id for task in load(file, SITES)] == ["5"]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"[", "is not valid JSON"),
        (b"", "is empty; a task file is a JSON array of tasks"),
        (b"\xff\xfe[]", "is not valid JSON"),
        (b'[{"intent": "\xe9"}]', r"is not valid JSON \(.*\); save it as UTF-8$"),
        (b"[]", r"tasks\.json: contains no tasks"),
        (b"3", "contains a number; a task file is a JSON array"),
        (b"[[]]", "entry 0: contains an array; a task is a JSON object"),
        (b"[" * 100_000, "is not valid JSON"),
    ],
)
def test_a_file_that_holds_no_tasks_is_said_so(tmp_path: Path, content: bytes, complaint: str) -> None:
    file = tmp_path / "tasks.json"
    file.write_bytes(content)
    with pytest.raises(TaskError, match=complaint):
        load(file, SITES)


def test_missing_files_and_empty_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"nope\.json: there is no such file or folder; correct the path of the tasks"):
        load(tmp_path / "nope.json", SITES)
    with pytest.raises(TaskError, match=r"contains no \.json files"):
        load(tmp_path, SITES)


def test_all_of_webarena_loads() -> None:
    file = Path(os.environ.get("WEBARENA_TASKS", "../shared/webarena/test.raw.json"))
    if not file.exists():
        pytest.skip(f"{file} is not there; set WEBARENA_TASKS to WebArena's test.raw.json")
    names = ("gitlab", "reddit", "shopping", "shopping_admin", "map", "wikipedia")
    tasks = load(file, {name: f"http://{name}.test" for name in names})
    assert len(tasks) == 812
    assert [task.task_id for task in tasks] == [str(index) for index in range(812)]
    assert sum(len(task.eval.program_html) for task in tasks) == 651
    assert {task.task_id for task in tasks if len(task.start_urls) > 1} == {"431", "432", "433", "434", "435"}
    assert all("__" not in url for task in tasks for url in task.start_urls)


def test_pictures_of_the_intent_are_addresses_and_paths_beside_the_file(tmp_path: Path) -> None:
    one, many = raw(0, image="__SHOP__/a%20b.png"), raw(1, image=["pics/c.JPG", "https://example.org/d"])
    first, second = load(write(tmp_path, one, many), SITES)
    assert first.images == ("http://shop.localhost/a%20b.png",)
    assert second.images == (str(tmp_path / "pics/c.JPG"), "https://example.org/d")
    assert "image" not in first.metadata
    moved = replace(second, images=("/elsewhere/c.JPG", second.images[1]))
    assert task_digest(moved) == task_digest(second) != task_digest(replace(second, images=()))


def test_a_whole_bound_of_a_number_is_said_exactly() -> None:
    assert str(AT_LEAST_ONE) == f"from 1 to {2**53}"
    assert str(ValueRange(0, 0.5, above=True)) == "above 0, 0.5 at most"
