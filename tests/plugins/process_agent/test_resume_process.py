"""A process that is started again: answered from the journal until that is used up, and never in silence when it differs."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.choices import OnDivergence
from harness.errors import AgentDiverged, EnvironmentDiverged, JournalError
from harness.plugins.process_agent.request_key import Volatile
from harness.records import Acted, Answered, Asked, Boundary, Decided, Diverged, Episode, Failed, Opened, Record
from harness.testing import MemoryJournal, play
from tests.plugins.process_agent.processes import HEAD, THREE, Model, agent_of

PAGES = ("[1] link 'one'", "[1] link 'two'", "[1] link 'three'", "[1] link 'four'")
pytestmark = pytest.mark.integration


async def whole(script: str, tmp_path: Path, model: Model) -> MemoryJournal:
    """An undisturbed episode."""
    journal = MemoryJournal()
    async with agent_of(script, tmp_path, model) as agent:
        await play(agent, *PAGES, journal=journal)
    return journal


def cut_off(journal: MemoryJournal, records: Sequence[Record]) -> MemoryJournal:
    """A journal that ends early, with the artifacts of the other."""
    found = MemoryJournal(records)
    found.artifacts = journal.artifacts
    return found


def before_scores(journal: MemoryJournal) -> list[Record]:
    return [one for one in journal.records if one.kind not in ("closed", "scored", "exited")]


async def test_wherever_it_is_killed_it_ends_the_same_and_pays_nothing_twice(tmp_path: Path) -> None:
    calm = await whole(THREE, tmp_path, first := Model())
    records = before_scores(calm)
    for end in range(2, len(records) + 1):
        journal = cut_off(calm, records[:end])
        recorded = journal.episode
        model = Model(seen=[b""] * len(recorded.answered))  # numbers its answers as if it had gone on
        async with agent_of(THREE, tmp_path, model) as agent:
            episode = await play(agent, *PAGES, journal=journal)
        assert episode.closed is not None and episode.closed.answer == "r1 r2 r3 r4", end
        assert episode.diverged == () and episode.attempt == 1
        assert model.seen[len(recorded.answered) :] == first.seen[len(recorded.answered) :], end
        assert len(episode.asked) - len(episode.answered) == len(recorded.asked) - len(recorded.answered)
        assert episode.usage.tokens == 44 and len(episode.steps) == 3


async def test_a_run_that_is_stopped_goes_on_with_another_process(tmp_path: Path) -> None:
    journal, model = MemoryJournal(), Model()
    async with agent_of(THREE, tmp_path, model) as agent:
        await play(agent, *PAGES, journal=journal, most_steps=2)
        broken_off = journal.episode
        episode = await play(agent, *PAGES, journal=journal)
    assert broken_off.closed is None and len(broken_off.exited) == 1
    assert episode.closed is not None and episode.closed.answer == "r1 r2 r3 r4"
    assert len(episode.resumed) == 1 and len(episode.exited) == 2 and len(model.seen) <= 5


@pytest.mark.slow
@pytest.mark.parametrize("volatile", [("started at [0-9.]+",), ("/messages/*/content",)], ids=["expression", "pointer"])
async def test_what_is_declared_volatile_is_no_divergence(tmp_path: Path, volatile: tuple[str, ...]) -> None:
    script = THREE.replace('ask(task["text"])', 'ask("started at %f" % time.time())')
    calm = await whole(script, tmp_path, Model())
    journal = cut_off(calm, before_scores(calm)[:5])
    async with agent_of(script, tmp_path, model := Model(), volatile=Volatile.of(volatile)) as agent:
        with pytest.raises(EnvironmentDiverged):  # the keys in the journal were made without the declaration
            await play(agent, *PAGES, journal=journal)
    calm = MemoryJournal()
    async with agent_of(script, tmp_path, model, volatile=Volatile.of(volatile)) as agent:
        await play(agent, *PAGES, journal=calm)
        journal = cut_off(calm, before_scores(calm)[:5])
        episode = await play(agent, *PAGES, journal=journal)
    assert episode.diverged == () and episode.closed is not None


FICKLE = (
    HEAD
    + """
count = open(PATH).read() if os.path.exists(PATH) else ""
open(PATH, "w").write(count + "x")
said = ask("start " + CHANGES[0] * len(count))
act("goto", url="http://site.test/" + CHANGES[1] * len(count))
said += ask("then")
act("stop", answer=said)
"""
)
"""Does something else each time it is started: in its first request, or in its first call."""


def fickle(tmp_path: Path, *, request: str = "", call: str = "") -> str:
    return f"PATH, CHANGES = {str(tmp_path / 'count')!r}, {(request, call)!r}\n{FICKLE}"


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("changes", "boundary"), [({"request": "x"}, Boundary.MODEL), ({"call": "x"}, Boundary.BROWSER)]
)
@pytest.mark.parametrize("policy", list(OnDivergence))
async def test_a_divergence_is_recorded_and_the_policy_decides(
    tmp_path: Path, changes: dict[str, str], boundary: Boundary, policy: OnDivergence
) -> None:
    script = fickle(tmp_path, **changes)
    calm = await whole(script, tmp_path, Model())
    journal = cut_off(calm, before_scores(calm)[:6])
    async with agent_of(script, tmp_path, model := Model(), on_divergence=policy) as agent:
        if policy is OnDivergence.keep:
            episode = await play(agent, *PAGES, journal=journal)
            assert episode.closed is not None and episode.attempt == 1 and episode.failures == ()
        else:
            kind = EnvironmentDiverged if policy is OnDivergence.restart else AgentDiverged
            with pytest.raises(kind):
                await play(agent, *PAGES, journal=journal)
            assert model.seen == [] and journal.episode.failures[-1].type == kind.__name__
    (diverged,) = journal.episode.diverged
    assert (diverged.boundary, diverged.step, diverged.policy) == (boundary, 1, policy.value)
    assert "diverged" in diverged.why and (diverged.request is not None) == (boundary is Boundary.MODEL)
    if boundary is Boundary.MODEL:
        assert "/messages/0/content is 'start x' (recorded: 'start ')" in diverged.why


async def test_after_a_divergence_a_new_attempt_begins_by_default(tmp_path: Path) -> None:
    script = fickle(tmp_path, request="x")
    calm = await whole(script, tmp_path, Model())
    journal = cut_off(calm, before_scores(calm)[:6])
    async with agent_of(script, tmp_path, Model()) as agent:
        with pytest.raises(EnvironmentDiverged):
            await play(agent, *PAGES, journal=journal)
        episode = await play(agent, *PAGES, journal=journal)
    assert episode.attempt == 2 and episode.opened is not None and episode.opened.why == "diverged"
    assert episode.closed is not None and episode.diverged == () and episode.asked[0].number == 1


@pytest.mark.slow
async def test_a_process_that_ends_before_its_recording_is_used_up_diverges(tmp_path: Path) -> None:
    calm = await whole(THREE, tmp_path, Model())
    journal = cut_off(calm, before_scores(calm)[:6])
    async with agent_of(HEAD + "print(json.dumps({'answer': 'early'}))", tmp_path, Model()) as agent:
        with pytest.raises(EnvironmentDiverged, match="it ended"):
            await play(agent, *PAGES, journal=journal)
    assert journal.episode.closed is None and len(journal.episode.diverged) == 1


@pytest.mark.slow
async def test_equal_requests_are_answered_in_their_order(tmp_path: Path) -> None:
    script = HEAD + (
        "said = [ask('same') for number in range(3)]\nact('goto', url='http://site.test/')\n"
        "said += [ask('same')]\nact('stop', answer=' '.join(said))"
    )
    calm = await whole(script, tmp_path, Model())
    journal = cut_off(calm, before_scores(calm)[:10])
    async with agent_of(script, tmp_path, model := Model(seen=[b""] * 3)) as agent:
        episode = await play(agent, *PAGES, journal=journal)
    assert episode.closed is not None and episode.closed.answer == "r1 r2 r3 r4" and len(model.seen) == 4


async def test_a_request_without_an_answer_is_asked_again_and_is_no_divergence(tmp_path: Path) -> None:
    calm = await whole(THREE, tmp_path, Model())
    records = before_scores(calm)
    end = next(at for at, one in enumerate(records) if isinstance(one, Asked) and one.number == 3)
    journal = cut_off(calm, records[: end + 1])
    async with agent_of(THREE, tmp_path, model := Model(seen=[b""] * 2)) as agent:
        episode = await play(agent, *PAGES, journal=journal)
    assert [one.number for one in episode.asked] == [1, 2, 3, 4, 5] and sorted(episode.answered) == [1, 2, 4, 5]
    assert len(model.seen) == 4 and episode.diverged == ()


def test_lines_that_make_no_sense_are_refused() -> None:
    calm = MemoryJournal()
    opened = _opened()
    acted = _arrival()
    asked = Asked(number=1, step=1, key="0" * 64, interface="chat", model="m", request="1" * 64, at=1.0)
    answered = Answered(
        number=1, status=200, response="2" * 64, model="m", usage=Episode().usage, elapsed_ms=1.0, at=1.0
    )
    diverged = Diverged(boundary=Boundary.MODEL, step=1, why="w", policy="restart", at=1.0)
    with pytest.raises(Exception, match="before the episode was opened"):
        calm.append(asked)
    calm.append(opened)
    with pytest.raises(Exception, match="before anything was observed"):
        calm.append(asked)
    calm.append(acted)
    for wrong, why in (
        (replace(asked, number=2), "request 2 after request 0"),
        (replace(asked, step=2), "request before decision 2"),
        (answered, "answer to request 1, which was not asked"),
        (replace(diverged, step=3), "diverged at decision 3"),
    ):
        with pytest.raises(Exception, match=why):
            calm.append(wrong)
    for right in (asked, answered, diverged):
        calm.append(right)
    with pytest.raises(Exception, match="second answer to request 1"):
        calm.append(answered)
    assert calm.episode.usage == answered.usage and calm.episode.diverged == (diverged,)


def _opened() -> Opened:
    from harness.testing import a_task

    return Opened(attempt=1, trial=0, task=a_task(), task_digest="", config_digest="", seed=0, at=1.0)


def _arrival() -> Acted:
    from harness.records import Done
    from harness.testing import observation

    return Acted(step=0, outcome=Done(), observation=observation().observation, elapsed_ms=1.0, at=1.0)


def test_old_lines_are_written_as_before() -> None:
    """No record that others write got a field more."""
    from harness.codec import encode

    decided = {"step", "action", "reply", "prompt", "model", "usage", "effects_seen", "memory", "elapsed_ms", "at"}
    from harness.actions import Stop

    record = Decided(
        step=1, action=Stop(), reply="", prompt=(), model="", usage=Episode().usage, elapsed_ms=0.0, at=1.0
    )
    assert set(json.loads(encode(record).body + b"}")) == decided | {"kind", "schema"}
    assert Failed.kind == "failed"


@pytest.mark.slow
async def test_a_request_whose_body_a_power_cut_took_is_asked_again(tmp_path: Path) -> None:
    """The record of a request is durable before it is sent, its body only with the answer."""
    calm = await whole(THREE, tmp_path, first := Model())
    records = before_scores(calm)
    last = max(at for at, one in enumerate(records) if isinstance(one, Asked))
    journal = MemoryJournal(records[: last + 1])
    for one in journal.episode.answered.values():
        journal.artifacts.put(calm.artifacts.read(one.response))
    lost = journal.episode.asked[-1].request
    with pytest.raises(JournalError):
        journal.artifacts.read(lost)
    async with agent_of(THREE, tmp_path, model := Model(seen=[b""] * 3)) as agent:
        episode = await play(agent, *PAGES, journal=journal)
    assert episode.closed is not None and episode.closed.answer == "r1 r2 r3 r4" and episode.diverged == ()
    assert model.seen[3:] == first.seen[3:] == [journal.artifacts.read(lost)]


async def test_requests_at_the_same_time_are_each_recorded_and_answered(tmp_path: Path) -> None:
    script = HEAD + (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(8) as pool: said = list(pool.map(ask, ['same', 'same'] + list('abcdef')))\n"
        "act('stop', answer=' '.join(sorted(said)))"
    )
    calm = await whole(script, tmp_path, model := Model())
    answers = [f"r{number}" for number in range(1, 9)]
    assert calm.episode.closed is not None and calm.episode.closed.answer.split() == answers
    assert [one.number for one in calm.episode.asked] == list(range(1, 9)) == sorted(calm.episode.answered)
    asked = {calm.artifacts.read(one.request) for one in calm.episode.asked}
    assert asked == set(model.seen) and len(asked) == 7
    journal = cut_off(calm, before_scores(calm))
    async with agent_of(script, tmp_path, again := Model()) as agent:
        episode = await play(agent, *PAGES, journal=journal)
    assert again.seen == [] and episode.closed is not None and episode.closed.answer.split() == answers


async def test_who_hangs_up_in_the_middle_has_paid_and_is_answered_from_the_journal(tmp_path: Path) -> None:
    script = HEAD + (
        "import socket, urllib.parse\n"
        "said = [{'role': 'user', 'content': 'x' * 3000000}]\n"
        "body = json.dumps({'model': 'm', 'stream': True, 'messages': said}).encode()\n"
        "place = urllib.parse.urlsplit(os.environ['CAIRN_URL'])\n"
        "head = 'POST /v1/chat/completions HTTP/1.1\\r\\nhost: x\\r\\nauthorization: Bearer '\n"
        "head += os.environ['CAIRN_TOKEN'] + '\\r\\ncontent-length: ' + str(len(body)) + '\\r\\n\\r\\n'\n"
        "with socket.create_connection((place.hostname, place.port)) as gone:\n"
        "    gone.sendall(head.encode() + body)\n"
        "    gone.recv(100)\n"
        "act('stop', answer=ask('next'))"
    )
    calm = await whole(script, tmp_path, model := Model())
    assert calm.episode.closed is not None and calm.episode.closed.answer == "r2"
    assert len(calm.episode.answered) == 2 == len(model.seen) and calm.episode.usage.requests == 2
