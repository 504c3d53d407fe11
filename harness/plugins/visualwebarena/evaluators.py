"""VisualWebArena's evaluators, which give what the package's own give, quirks included (docs/pages/visualwebarena.md).

Their data is the part of the task's `eval` that each reads; pages and pictures are in the evidence that the benchmark
gathered. What the package would end with an exception for leaves the task unscored.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.api import (
    Artifacts,
    Closed,
    CodecError,
    EvaluatorError,
    Finding,
    JudgeAccess,
    JudgedEvaluator,
    RecordedEpisode,
    Task,
    loads,
)
from harness.api.scoring import answer_of, finding, shown
from harness.plugins.visualwebarena import text_rules as rules
from harness.plugins.visualwebarena.places import place_of
from harness.plugins.visualwebarena.questions import PROMPT_DIGEST, gives_the_reason, look, means_the_same
from harness.plugins.visualwebarena.structural_similarity import is_picture, structural_similarity

PREFIX = "vwa_"
STRING, URL, HTML, IMAGE = (
    f"{PREFIX}{name}" for name in ("string_match", "url_match", "program_html", "page_image_query")
)
SSIM_THRESHOLD = 0.8
_GOLD = "GOLD in PRED"


def data_of(task: Task, name: str) -> Any:
    """What the task holds for an evaluator."""
    return task.metadata.get(f"eval.{name}")


def entries_of(recorded: RecordedEpisode, part: str) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Each entry of the task, with what was gathered for it.

    Raises:
        EvaluatorError: Nothing was.
    """
    gathered = evidence_of(recorded.closed, recorded.artifacts, part)
    entries: Sequence[Mapping[str, Any]] = data_of(recorded.task, part)
    for index, entry in enumerate(entries):
        if all("of" in one for one in gathered):
            place = place_of(entry)
            found = [one for one in gathered if one["of"] == place][:1]
        else:  # of an older version, which gathered for the task that was played
            found = list(gathered[index : index + 1]) if len(gathered) == len(entries) else []
        if not found:
            name = part.removeprefix(PREFIX)
            raise EvaluatorError(
                f"{name}[{index}] looks at what was not looked at when the episode ended; only playing the task again"
                " can score it"
            )
        yield entry, found[0]


def evidence_of(closed: Closed, artifacts: Artifacts, part: str) -> Sequence[Mapping[str, Any]]:
    """What was gathered, entry by entry.

    Raises:
        EvaluatorError: Nothing was.
    """
    if closed.evidence.benchmark is None:
        raise EvaluatorError("nothing was gathered from the pages")
    try:
        found: Sequence[Mapping[str, Any]] = loads(artifacts.read(closed.evidence.benchmark))[part]
    except (CodecError, KeyError, TypeError) as error:
        raise EvaluatorError(f"what was gathered from the pages cannot be read: {error}") from error
    return found


class StringMatch(JudgedEvaluator):
    """`string_match`: the answer against `reference_answers`, in the task's order."""

    prompt_digest = PROMPT_DIGEST

    async def evaluate_judged(self, recorded: RecordedEpisode, judge: JudgeAccess, /) -> Finding:
        task, data = recorded.task, data_of(recorded.task, STRING)
        references = data["reference_answers"]
        pred: Any = rules.clean(answer_of(recorded.closed))
        misses: list[str] = []
        for kind, value in references.items():
            if kind == "required_values" and (pred := rules.whole_number(rules.text_of(pred, "the answer"))) is None:
                misses.append("the answer is not a whole number")
                continue
            if kind == "fuzzy_match" and value == "N/A":
                if _is_same(value, pred) and not misses:
                    continue
                pred = rules.text_of(pred, "the answer")
                reason = rules.text_of(data.get("string_note"), "eval.string_note")
                agrees = await gives_the_reason(judge, pred=pred, reference=reason, question=task.intent)
                misses = [] if agrees else ["the answer does not say why the task cannot be done"]
            elif kind == "fuzzy_match":
                pred = rules.text_of(pred, "the answer")
                for reference in rules.texts_of(value, "reference_answers.fuzzy_match"):
                    if not await means_the_same(judge, pred=pred, reference=reference, question=task.intent):
                        misses.append(f"the judge did not find {shown(reference)} in the answer {shown(pred)}")
            else:
                misses += await asyncio.to_thread(_answer_misses, kind, value, pred)
        return finding(misses, "the answer matches the task")


def _answer_misses(kind: str, value: Any, pred: Any) -> list[str]:
    """What one kind of reference misses in the cleaned answer, or in the number it is."""
    what = f"reference_answers.{kind}"
    if kind == "exact_match":
        fits = _is_same(rules.text_of(value, what), pred)
        return [] if fits else [f"the answer {shown(pred)} is not {shown(value)}"]
    if kind == "required_values":
        return _value_misses(rules.texts_of(value, what), pred)
    if kind == "must_include":
        text = rules.text_of(pred, "the answer")
        return [
            f"{shown(text)} lacks {shown(one)}"
            for one in rules.texts_of(value, what)
            if not rules.includes_any(one, text)
        ]
    if kind == "must_exclude":
        text = rules.text_of(pred, "the answer")
        return [
            f"{shown(text)} contains {shown(one)}" for one in rules.texts_of(value, what) if rules.includes(one, text)
        ]
    if kind == "one_of":
        text = rules.text_of(pred, "the answer")
        found = any(rules.clean(one) in text for one in rules.texts_of(value, what))
        return [] if found else [f"{shown(text)} contains none of {shown(value)}"]
    return []  # as in the package, another kind asks for nothing; tasks with one are refused at the start


def _is_same(wanted: str, value: Any) -> bool:
    if not isinstance(value, str | int):
        raise EvaluatorError(f"{shown(value)} is neither a text nor a whole number")
    return rules.is_same(wanted, value)


def _value_misses(conditions: Sequence[str], value: float) -> list[str]:
    return [f"{value:g} is not {one}" for one in conditions if not rules.satisfies_any(one, value)]


class UrlMatch:
    """`url_match`: the address of the agent's page against `reference_url`."""

    async def evaluate(self, task: Task, closed: Closed, artifacts: Artifacts, /) -> Finding:
        data = data_of(task, URL)
        reference = rules.text_of(data.get("reference_url"), "eval.reference_url")
        note = data.get("url_note", "EXACT")
        references, page = [_address(one) for one in reference.split(rules.OR)], _address(closed.evidence.url)
        if note not in ("EXACT", _GOLD):
            raise EvaluatorError(f"url_note is {shown(note)}; the rules are EXACT and {_GOLD}")
        fits = page in references if note == "EXACT" else any(one in page for one in references)
        return finding(
            [] if fits else [f"the page {shown(page)} is not at {shown(reference)}"], "the page matches the task"
        )


def _address(url: str) -> str:
    return url.replace("localhost", "127.0.0.1").removesuffix("/")


class ProgramHtml(JudgedEvaluator):
    """`program_html`: what was selected from pages against `required_contents`."""

    prompt_digest = PROMPT_DIGEST

    async def evaluate_judged(self, recorded: RecordedEpisode, judge: JudgeAccess, /) -> Finding:
        misses: list[str] = []
        for index, (target, found) in enumerate(entries_of(recorded, HTML)):
            if "error" in found:
                raise EvaluatorError(f"program_html[{index}]: {found['error']}")
            value = found["value"]
            if value is None:
                misses.append(f"program_html[{index}]: the page has not what is looked for")
                break  # as in the package, what comes after it does not count
            missed = await _content_misses(target["required_contents"], value, judge)
            misses += [f"program_html[{index}]: {miss}" for miss in missed]
        return finding(misses, "the pages contain what the task asks for")


async def _content_misses(required: Mapping[str, Any], value: Any, judge: JudgeAccess) -> list[str]:
    """Of several kinds of contents only the first one of this order counts, as in the package."""
    if "exact_match" in required:
        wanted = rules.text_of(required["exact_match"], "exact_match")
        return [] if _is_same(wanted, value) else [f"{shown(value)} is not {shown(wanted)}"]
    for kind in ("must_include", "must_exclude"):
        if kind in required:
            return await asyncio.to_thread(_phrase_misses, kind, required[kind], value)
    if "required_values" in required:
        conditions = rules.texts_of(required["required_values"], "required_values")
        number = rules.whole_number(value) if isinstance(value, str) else value
        if number is None:
            return [f"{shown(value)} is not a whole number"]
        if not isinstance(number, int | float):
            raise EvaluatorError(f"the selected value {shown(value)} is not a number")
        return _value_misses(conditions, number)
    if "fuzzy_match" in required:
        text, wanted = rules.text_of(value, "the selected value"), rules.text_of(required["fuzzy_match"], "fuzzy_match")
        parts = wanted.split(rules.OR)  # each of which has to fit, as in the package
        fits = [await means_the_same(judge, pred=text, reference=part, question="NOT USED") for part in parts]
        return [
            f"the judge did not find {shown(part)} in {shown(text)}"
            for part, one in zip(parts, fits, strict=True)
            if not one
        ]
    raise EvaluatorError(f"required_contents has none of the known kinds, but {shown(sorted(required))}")


def _phrase_misses(kind: str, value: Any, found: Any) -> list[str]:
    phrases, text = rules.texts_of(value, kind), rules.text_of(found, "the selected value")
    if kind == "must_include":
        return [f"{shown(text)} lacks {shown(phrase)}" for phrase in phrases if not rules.includes_any(phrase, text)]
    if strange := [phrase for phrase in phrases if rules.OR in phrase]:
        raise EvaluatorError(f"must_exclude has no alternatives, but {shown(strange[0])}")
    return [f"{shown(text)} contains {shown(phrase)}" for phrase in phrases if rules.includes(phrase, text)]


class PageImageQuery(JudgedEvaluator):
    """`page_image_query`: pictures of a page against a reference picture (SSIM), or asked about (VQA)."""

    prompt_digest = PROMPT_DIGEST

    async def evaluate_judged(self, recorded: RecordedEpisode, judge: JudgeAccess, /) -> Finding:
        misses: list[str] = []
        for index, (query, found) in enumerate(entries_of(recorded, IMAGE)):
            if "error" in found:
                raise EvaluatorError(f"page_image_query[{index}]: {found['error']}")
            kept = [recorded.artifacts.read(digest) for digest in found["images"]]
            pictures = [data for data in kept if is_picture(data)]
            if not pictures:
                return finding([f"page_image_query[{index}]: there is no picture"], "")
            missed = [
                *await _unseen(query.get("eval_vqa", []), pictures, judge),
                *await asyncio.to_thread(_unlike, query, pictures, found, recorded.artifacts),
            ]
            if missed and found["outside"]:
                raise EvaluatorError(
                    f"page_image_query[{index}]: {shown(found['outside'][0])} is on no site of the run"
                )
            misses = [f"page_image_query[{index}]: {miss}" for miss in missed]  # as in the package, the last one counts
        return finding(misses, "the pictures are what the task asks for")


async def _unseen(questions: Sequence[Mapping[str, str]], pictures: Sequence[bytes], judge: JudgeAccess) -> list[str]:
    """Questions to which the judge gives the wanted answer for none of the pictures."""
    missed = []
    for one in questions:
        wanted = one["answer"].lower()
        for picture in pictures:
            if wanted in (await look(judge, picture, one["question"])).lower():
                break
        else:
            missed.append(f"of no picture the judge says {shown(one['answer'])} to {shown(one['question'])}")
    return missed


def _unlike(
    query: Mapping[str, Any], pictures: Sequence[bytes], found: Mapping[str, Any], artifacts: Artifacts
) -> list[str]:
    """The reference, when no picture is like one of its alternatives."""
    if "eval_fuzzy_image_match" not in query:
        return []
    threshold, best = query.get("ssim_threshold", SSIM_THRESHOLD), -1.0
    try:
        for reference in map(artifacts.read, found["references"]):
            for picture in pictures:
                best = max(best, similarity := structural_similarity(picture, reference))
                if similarity > threshold:
                    break
    except ImportError as error:
        raise EvaluatorError(
            "scikit-image is not installed; run pip install 'cairn-harness[visualwebarena]', then score the run again"
        ) from error
    except ValueError as error:
        raise EvaluatorError(f"the pictures cannot be compared: {error}") from error
    return (
        []
        if best > threshold
        else [f"no picture is like the reference (similarity {best:.3f}, at least {threshold:g} is needed)"]
    )
