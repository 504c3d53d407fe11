"""Episodes whose pages, answers and references hold a secret in all the ways they can, played by the real runner.

A row is (secret, page, answer, reference). The same rows are played into a run folder that hides the secret and into
one that does not; nothing but what is hidden differs.
"""

import base64
import html
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

from harness.actions import Stop, Target, Type
from harness.api import (
    Decision,
    Evaluator,
    Finding,
    JudgeAccess,
    JudgedEvaluator,
    JudgeQuestion,
    Message,
    RecordedEpisode,
    Reply,
)
from harness.api.sealed_answers import encrypt, seal
from harness.choices import Durability
from harness.codec import dumps
from harness.episode.episode import EpisodeRunner
from harness.episode.job import Job
from harness.episode.recorder import EpisodeDeps
from harness.evaluators.quotation import quoted
from harness.evaluators.scorer import Scorer
from harness.journal.store import RunFolder
from harness.pictures.png import blank_picture
from harness.plugins.assistantbench.assistantbench import AnswerScore
from harness.plugins.browsecomp.browsecomp import Grader
from harness.plugins.miniwob.miniwob import RawReward
from harness.plugins.online_mind2web.webjudge import WebJudge
from harness.plugins.real.check_scripts import CheckScripts
from harness.plugins.real.state_checks import StateChecks
from harness.plugins.visualwebarena.evaluators import ProgramHtml, StringMatch, UrlMatch
from harness.plugins.webvoyager.last_screenshots import LastScreenshots
from harness.protocols import RawEvidence, TargetValue
from harness.records import Episode, EpisodeLimits, Eval, HtmlTarget, LiveObservation, Status, Task
from harness.secrets.redaction import Redactor
from harness.testing import ScriptedPages

SITE = "http://shop.localhost/"
NAME = "sites.shop.login"
SECRETS = (
    *("Maple", "meeting", "tide-and-time", "hunter2-blue", "4711", "80312", "Pass word/1&<\"é'\\+", "p@ss/w?rd&x=1"),
    *("sk-proj-A1b2C3d4E5f6G7h8I9j0", "Größe_9", "a b", 'say "hi"', "N/A?!", "name", "Bearer-x7!", "$12.00", "[12] ok"),
)
"""Words of pages, numbers, keys, and values that every format escapes in its own way."""
PNG = blank_picture((4, 4))
Scores = dict[tuple[str, str], tuple[Status, float | None]]
"""Task and dialect to the score."""


@dataclass(frozen=True, kw_only=True)
class Row:
    task: Task
    answer: str
    evidence: RawEvidence = field(default_factory=lambda: RawEvidence(url=SITE, title="", html=""))


class Quoting(JudgedEvaluator):
    """An evaluator of a person's own, which shows the judge what the agent typed."""

    async def evaluate_judged(self, recorded: RecordedEpisode, judge: JudgeAccess, /) -> Finding:
        said = "; ".join(f"{step.action} at {step.url}" for step in recorded.trajectory)
        wanted = str(recorded.task.metadata["eval.quoting"])
        reply = await judge.ask([Message(role="user", content=f"{quoted(said, 'answer')} {quoted(wanted, 'correct')}")])
        return Finding(value=float("incorrect" not in reply), why=f"{said!r:.60} {reply}")


class Checks(StateChecks):
    """Without programs."""

    def __init__(self) -> None:
        super().__init__(CheckScripts(None))


EVALUATORS: Mapping[str, type[Any]] = {
    "vwa_string_match": StringMatch,
    "vwa_url_match": UrlMatch,
    "vwa_program_html": ProgramHtml,
    "assistantbench": AnswerScore,
    "browsecomp": Grader,
    "real": Checks,
    "miniwob": RawReward,
    "last_screenshots": LastScreenshots,
    "webjudge": WebJudge,
    "quoting": Quoting,
}
"""Of eval types that are not shipped: all that work without another program. WebArena-Verified's scorer is one."""


class Literal:
    """A judge that goes by letters, so that another question is another verdict; it repeats what it was shown."""

    name = "literal"

    async def judge(self, question: JudgeQuestion, /) -> Reply:
        texts = [part for message in question.messages for part in _texts(message.content)]
        told = [line for text in texts for line in text.split("<data")]
        shown = " ".join(told).lower()
        if question.kind == "fuzzy_match":
            fits = question.reference.lower() in question.answer.lower()
            verdict = "correct" if fits else "incorrect"
        elif question.kind == "same_reason":
            verdict = "same" if question.reference.lower()[:4] in question.answer.lower() else "different"
        elif "2. **score**" in shown:
            verdict = f"**Reasoning**: letters\n\n**Score**: {1 + sum(shown.encode()) % 5}"
        elif "[correct_answer]" in shown:
            verdict = f"correct: {'yes' if sum(shown.encode()) % 2 else 'no'}"
        elif "status: " in shown:
            verdict = f"Status: {'success' if sum(shown.encode()) % 2 else 'failure'}"
        elif "'not success'" in shown:
            verdict = "SUCCESS" if sum(shown.encode()) % 2 else "NOT SUCCESS"
        elif "success" in shown:
            verdict = "success" if sum(shown.encode()) % 2 else "failure" if "failure" in shown else "not success"
        elif "rubric" in shown:
            verdict = "met" if sum(shown.encode()) % 2 else "not met"
        else:
            verdict = "correct" if sum(shown.encode()) % 2 else "incorrect"
        return Reply(text=f"It said {question.answer[:200]!r}.\n{verdict}", model=self.name)


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    else:
        yield from (str(part["text"]) for part in content if part.get("type") == "text")


# --- rows -------------------------------------------------------------------------------------------


def rows(secret: str, count: int, draw: random.Random) -> list[Row]:
    """Of every kind as many, with answers and pages that fit and that do not."""
    makers = (
        _string,
        _fuzzy,
        _url,
        _html,
        _whole_page,
        _vwa_string,
        _vwa_url,
        _vwa_html,
        _assistant,
        _grader,
        _real,
        _other,
    )
    made = [makers[number % len(makers)](f"t{number}", _Words(secret, draw)) for number in range(count)]
    return [replace(row, task=replace(row.task, task_id=f"t{number}")) for number, row in enumerate(made)]


class _Words:
    """Texts with the secret in them, and references that may be found there."""

    def __init__(self, secret: str, draw: random.Random) -> None:
        self.secret = secret
        self.draw = draw

    def text(self) -> str:
        one, other = self._form(), self._form()
        usual = (
            "{0}", "The {0} room", "{0} and {1}", "It is {0}.", "x{0}", "{0}s", "'{0}'", '"{0}"', "nothing here", "no {1}\n{0} {0}",
            "{0} |OR| {1}", "1,204 of {0}", "N/A",
        )  # fmt: skip
        odd = ("[redacted:sites.shop.login]", "sk-abcdefghij0123456789xyz {0}", "Cookie: a={0}; b=2")
        templates = odd if self.draw.random() < 0.05 else usual
        return self.draw.choice(templates).format(one, other)

    def _form(self) -> str:
        value = self.secret
        forms: tuple[Callable[[], str], ...] = (
            *((lambda: value,) * 6), value.lower, value.upper, lambda: value[:-1], lambda: value[1:], lambda: value[: len(value) // 2],
            lambda: quote(value, safe=""), lambda: quote_plus(value), lambda: html.escape(value), lambda: json.dumps(value)[1:-1],
            lambda: base64.b64encode(value.encode()).decode(), lambda: value + ".00", lambda: "".join(f"&#{ord(one)};" for one in value),
            lambda: value.replace("a", "%61"), lambda: "plain words", lambda: value[::-1],
        )  # fmt: skip
        return self.draw.choice(forms)()

    def reference(self, text: str) -> str:
        """Something that may be in the text: a part of it, the text itself, or another."""
        start = self.draw.randrange(len(text) + 1)
        part = text[start : start + self.draw.choice((1, 4, 9, 40))]
        return (
            self.draw.choice((text, text.lower(), part, part, text[: len(text) // 2], self.text(), self.secret)) or "x"
        )


def _task(eval_types: Sequence[str], words: _Words, **judged: Any) -> Task:
    further = {name: judged.pop(name) for name in list(judged) if name.startswith("eval.")}
    return Task(
        task_id="", sites=("shop",), intent=words.draw.choice(("How many?", f"Find {words.text()}")), start_urls=(SITE,),
        eval=Eval(eval_types=tuple(eval_types), **judged), metadata=further,
    )  # fmt: skip


def _string(_: str, words: _Words) -> Row:
    answer = words.text()
    kinds: dict[str, Any] = {"exact_match": words.reference(answer)}
    if words.draw.random() < 0.6:
        kinds = {"must_include": [words.reference(answer) for _ in range(words.draw.choice((1, 1, 2)))]}
    return Row(task=_task(["string_match"], words, reference_answers=kinds), answer=answer)


def _fuzzy(_: str, words: _Words) -> Row:
    answer = words.text()
    kinds: dict[str, Any] = {"fuzzy_match": [words.reference(answer)]}
    if words.draw.random() < 0.3:
        kinds = {"fuzzy_match": "N/A"}
    return Row(
        task=_task(["string_match"], words, reference_answers=kinds, string_note=words.reference(answer)), answer=answer
    )


def _address(words: _Words) -> str:
    path = words.draw.choice((words.text(), quote(words.text(), safe="")))
    query = words.draw.choice(
        ("", f"?q={quote_plus(words.text())}", f"?q={quote(words.text(), safe='')}&p={words.secret}")
    )
    return f"{SITE}{path}{query}"


def _url(_: str, words: _Words) -> Row:
    url = _address(words)
    reference = words.draw.choice(
        (url, url.partition("?")[0], _address(words), url.replace("%20", "+"), f"{_address(words)} |OR| {url}")
    )
    evidence = RawEvidence(url=url, title=words.text(), html="")
    return Row(
        task=_task(["url_match"], words, reference_url=reference, url_note="GOLD in PRED"), answer="", evidence=evidence
    )


def _html(_: str, words: _Words) -> Row:
    text = words.text()
    values: tuple[Any, ...] = (text, [text, 4711], html.escape(text), None, True, {"a": text}, 4711, words.secret)
    value = words.draw.choice(values)
    wanted = words.reference(str(value))
    target = HtmlTarget(url="last", locator="document.title", must_include=(wanted,))
    if words.draw.random() < 0.4:
        target = replace(target, must_include=None, exact_match=wanted)
    selected = TargetValue(index=0, url=f"{SITE}?q={quote_plus(words.text())}", value=value)
    evidence = RawEvidence(url=SITE, title="", html=text, selections=(selected,))
    return Row(task=_task(["program_html"], words, program_html=(target,)), answer="", evidence=evidence)


def _whole_page(_: str, words: _Words) -> Row:
    text = words.text()
    page = f"<title>Rooms</title>\n<p title='{html.escape(words.text())}'>{html.escape(text)}\n{words.text()}</p>"
    target = HtmlTarget(url="last", must_include=(words.reference(text),))
    selected = TargetValue(index=0, url=_address(words), value=page)
    evidence = RawEvidence(url=SITE, title="", html=page, selections=(selected,))
    both = _task(
        ["program_html", "string_match"], words, program_html=(target,), reference_answers={"must_include": ["x"]}
    )
    return Row(task=both, answer="x", evidence=evidence)


def _vwa_string(_: str, words: _Words) -> Row:
    answer = words.text()
    wanted = words.reference(answer)
    kinds: tuple[dict[str, Any], ...] = (
        {"exact_match": wanted}, {"must_include": [wanted]}, {"must_exclude": [wanted]}, {"one_of": [wanted, "y"]},
        {"required_values": [f">= {len(wanted)}"]}, {"fuzzy_match": [wanted]},
    )  # fmt: skip
    data = {"reference_answers": words.draw.choice(kinds), "string_note": wanted}
    return Row(task=_task(["vwa_string_match"], words, **{"eval.vwa_string_match": data}), answer=answer)


def _vwa_url(_: str, words: _Words) -> Row:
    url = _address(words)
    data = {
        "reference_url": words.draw.choice((url, _address(words))),
        "url_note": words.draw.choice(("EXACT", "GOLD in PRED")),
    }
    evidence = RawEvidence(url=url, title="", html="")
    return Row(task=_task(["vwa_url_match"], words, **{"eval.vwa_url_match": data}), answer="", evidence=evidence)


def _vwa_html(_: str, words: _Words) -> Row:
    value = words.text()
    kind = words.draw.choice(("exact_match", "must_include", "must_exclude", "fuzzy_match"))
    wanted: Any = words.reference(value).replace(" |OR| ", " or ")
    required = {kind: wanted if kind in ("exact_match", "fuzzy_match") else [wanted]}
    evidence = RawEvidence(url=SITE, title="", html="", benchmark=dumps({"vwa_program_html": [{"value": value}]}))
    data = [{"required_contents": required}]
    return Row(task=_task(["vwa_program_html"], words, **{"eval.vwa_program_html": data}), answer="", evidence=evidence)


def _assistant(task_id: str, words: _Words) -> Row:
    answer = words.draw.choice((words.text(), words.secret, json.dumps({"name": words.text(), "price": 3})))
    sealed = seal(words.draw.choice((answer, words.reference(answer))), task_id)
    return Row(task=_task(["assistantbench"], words, **{"eval.assistantbench": sealed}), answer=answer)


def _grader(_: str, words: _Words) -> Row:
    answer = words.text()
    held = {"answer": encrypt(words.reference(answer), "canary"), "canary": "canary"}
    return Row(task=_task(["browsecomp"], words, **{"eval.browsecomp": held}), answer=answer)


def _real(task_id: str, words: _Words) -> Row:
    text = words.text()
    state = {"orders": [{"name": text, words.secret: 4711}], "note": f"a\ttab\nand {text}"}
    checks = [
        {"type": "jmespath", "query": "orders[0].name", "expected": words.draw.choice((text, words.text())), "about": ""},
        {"type": "jmespath", "query": f"length(orders[?contains(name, {json.dumps(words.reference(text))}.x)])", "expected": 0, "about": "x"},
        {"type": "llm_boolean", "rubric": words.text(), "about": ""},
    ]  # fmt: skip
    sealed = seal(words.draw.sample(checks, 2), task_id)
    evidence = RawEvidence(url=SITE, title="", html="", benchmark=dumps(state))
    return Row(task=_task(["real"], words, **{"eval.real": sealed}), answer=words.text(), evidence=evidence)


def _other(_: str, words: _Words) -> Row:
    """Judges of trajectories, and the state of a MiniWoB++ page."""
    name = words.draw.choice(("quoting", "last_screenshots", "webjudge", "miniwob"))
    state = {"done": True, "raw_reward": words.draw.choice((0, 1)), "reward": 0.5, "reason": words.text()}
    evidence = RawEvidence(url=SITE, title="", html="", benchmark=dumps(state))
    return Row(task=_task([name], words, **{"eval.quoting": words.text()}), answer=words.text(), evidence=evidence)


# --- playing ----------------------------------------------------------------------------------------


class _Pages(ScriptedPages):
    def __init__(self, row: Row) -> None:
        super().__init__(row.evidence.html or "[1] textbox 'Name'", url=row.evidence.url)
        self._row = row

    async def gather(self, task: Task) -> RawEvidence:
        return self._row.evidence

    def _view(self) -> LiveObservation:
        return replace(super()._view(), image=PNG)


class _Answering:
    """Types the answer, then gives it."""

    def __init__(self, answers: Mapping[str, str]) -> None:
        self._answers = answers

    async def decide(self, task: Task, episode: Episode, observation: LiveObservation, /) -> Decision:
        answer = self._answers[task.task_id]
        reply = Reply(text=f"I say {answer}")
        if not episode.steps:
            return Decision(action=Type(target=Target(id="1"), text=answer), reply=reply)
        return Decision(action=Stop(answer=answer), reply=reply)


class _Silent:
    def tell(self, news: object) -> None:
        return


def evaluators() -> dict[str, Evaluator]:
    return {name: make() for name, make in EVALUATORS.items()}


async def play(folder: Path, rows: Sequence[Row], redactor: Redactor, *, killed: bool = False) -> Scores:
    """Play the rows into a run folder, and score them in both dialects; `killed`: after each episode has closed."""
    found: Scores = {}
    further = evaluators()
    with RunFolder.open(folder, durability=Durability.none, redactor=redactor) as run:
        deps = EpisodeDeps(
            agent=_Answering({row.task.task_id: row.answer for row in rows}),
            evaluators={name: Scorer(name, Literal(), further=further) for name in ("webarena", "corrected")},
            keeps_trajectory=lambda task: True,
            artifacts=run.artifacts,
            checkpoints=run.checkpoints,
            limits=EpisodeLimits(),
            config_digest="c",
            seed=0,
            progress=_Silent(),
            stopping=lambda: False,
            redactor=redactor,
        )
        for row in rows:
            job = Job(task=row.task)
            with run.journal(row.task.task_id) as journal:
                runner = EpisodeRunner(deps, job, journal)
                await runner.play(nullcontext(_Pages(row)))
                if not killed:
                    await runner.score()
            with run.journal(row.task.task_id) as journal:
                await EpisodeRunner(deps, job, journal).score()
                scores = journal.episode.scores
            found |= {(row.task.task_id, name): (one.status, one.value) for name, one in scores.items()}
        results = [
            {"task_id": row.task.task_id, "trial": 0, "score": found[row.task.task_id, "corrected"][1]} for row in rows
        ]
        run.write("run.json", dumps({"scoring": "corrected", "tasks": [row.task.task_id for row in rows], "trials": 1}))
        run.write("summary.json", dumps(summary(results)))
    return found


def summary(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    scores = [one["score"] for one in results]
    failed = sum(score not in (None, 1.0) for score in scores)
    counts = {"passed": scores.count(1.0), "failed": failed, "unscored": scores.count(None)}
    return {"scoring": "corrected", **counts, "success_rate": scores.count(1.0) / len(scores), "results": list(results)}
