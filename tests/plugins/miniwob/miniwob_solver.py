"""An agent that solves pages of MiniWoB++ by rule, from what any agent is shown: the objective and the page's text."""

import re
from collections.abc import Callable, Generator
from dataclasses import dataclass

from harness.api import (
    CairnActionSet,
    ChatModel,
    Decision,
    Episode,
    LiveObservation,
    Stop,
    Task,
    resolve,
)

_LINE = re.compile(r"\s*\[(\d+)\] ([\w-]+) '(.*?)'(?: (\w.*))?$")
_ACTIONS = CairnActionSet()


@dataclass(frozen=True)
class Element:
    id: str
    role: str
    name: str
    rest: str

    @property
    def value(self) -> str:
        found = re.search(r"value: '(.*)'", self.rest)
        return found[1] if found else ""


@dataclass
class View:
    """The page as it is now."""

    objective: str
    elements: list[Element]

    @property
    def body(self) -> list[Element]:
        """Without the words of the objective, which pages repeat at their top."""
        left, said = list(self.elements[1:]), re.sub(r"\s", "", self.objective)
        while left and left[0].role == "StaticText" and said.startswith(text := re.sub(r"\s", "", left[0].name)):
            said = said[len(text) :]
            left.pop(0)
        return left

    def all(self, role: str, name: str | None = None) -> list[Element]:
        return [one for one in self.body if one.role == role and name in (None, one.name)]

    def one(self, role: str, name: str | None = None, nth: int = 0) -> str:
        found = self.all(role, name)
        assert found, f"no {role} {name} for {self.objective!r} in {self.body}"
        return found[nth].id

    def text(self, name: str) -> str:
        return self.one("StaticText", name)

    def button(self, name: str = "Submit") -> str:
        return f"click [{self.one('button', name)}]"


Moves = Generator[str, None, None]
SOLVERS: dict[str, Callable[[View], Moves]] = {}


def solves(*pages: str) -> Callable[[Callable[[View], Moves]], Callable[[View], Moves]]:
    def kept(solver: Callable[[View], Moves]) -> Callable[[View], Moves]:
        SOLVERS.update(dict.fromkeys(pages, solver))
        return solver

    return kept


class Solver:
    """Plays the solver of a page over all pages seen so far, so that an episode may go on in another process."""

    def __init__(self, model: ChatModel) -> None:
        pass

    async def decide(self, task: Task, episode: Episode, observation: LiveObservation, /) -> Decision:
        assert episode.arrival is not None
        seen = [episode.arrival, *(step.acted for step in episode.steps)]
        view = View(task.intent, [])
        moves, move = SOLVERS[task.task_id](view), None
        for page in seen:
            view.elements = elements_of(page.observation.text)
            move = next(moves, None)
        if move is None:
            return Decision(action=Stop(answer=""))
        return Decision(action=resolve(_ACTIONS.parse(move), observation.nodes))


class Waiter:
    """Does nothing until the page ends the episode."""

    def __init__(self, model: ChatModel) -> None:
        pass

    async def decide(self, task: Task, episode: Episode, observation: LiveObservation, /) -> Decision:
        return Decision(action=_ACTIONS.parse("wait"))


def elements_of(text: str) -> list[Element]:
    found = (_LINE.match(line) for line in text.split("\n\n", 1)[1].split("\n"))
    return [Element(*(part or "" for part in one.groups())) for one in found if one]


def quoted(view: View, nth: int = 0) -> str:
    return re.findall(r'"(.*?)"', view.objective)[nth]


def ordinal(view: View) -> int:
    found = re.search(r"(\d+)(?:st|nd|rd|th)", view.objective)
    assert found
    return int(found[1]) - 1


def fill(view: View, text: str, nth: int = 0, role: str = "textbox") -> str:
    return f"clear [{view.one(role, nth=nth)}] [{text}] [0]"


@solves("click-test", "click-test-transfer")
def click_test(view: View) -> Moves:
    yield f"click [{view.all('button')[0].id}]"


@solves("click-test-2")
def click_one(view: View) -> Moves:
    yield view.button("ONE")


@solves("click-button", "unicode-test")
def click_button(view: View) -> Moves:
    yield view.button(quoted(view))


@solves("click-button-sequence")
def click_buttons(view: View) -> Moves:
    yield view.button("ONE")
    yield view.button("TWO")


@solves("sign-agreement")
def sign(view: View) -> Moves:
    wanted = re.search(r"Click the (\w+) button", view.objective)
    if wanted:
        yield f"click [{next(one.id for one in view.all('button') if one.name.lower() == wanted[1].lower())}]"


@solves("click-dialog", "click-dialog-2")
def click_dialog(view: View) -> Moves:
    yield view.button("Close" if quoted(view) == "x" else quoted(view))


@solves("click-checkboxes", "click-checkboxes-large", "click-checkboxes-transfer")
def click_checkboxes(view: View) -> Moves:
    names = view.objective.removeprefix("Select ").removesuffix(" and click Submit.")
    for name in [] if names == "nothing" else names.split(", "):
        yield f"click [{view.one('checkbox', name)}]"
    yield view.button()


@solves("click-option")
def click_option(view: View) -> Moves:
    yield f"click [{view.one('radio', view.objective.removeprefix('Select ').removesuffix(' and click Submit.'))}]"
    yield view.button()


@solves("choose-list")
def choose_list(view: View) -> Moves:
    wanted = view.objective.removeprefix("Select ").removesuffix(" from the list and click Submit.")
    yield f"select [{view.one('combobox')}] [{wanted}]"
    yield view.button()


@solves("click-link")
def click_link(view: View) -> Moves:
    yield f"click [{view.text(quoted(view))}]"


@solves("click-collapsible", "click-collapsible-nodelay")
def collapsible(view: View) -> Moves:
    yield f"click [{next(one.id for one in view.all('tab') if one.name.startswith('Section'))}]"
    yield view.button()


@solves("click-collapsible-2", "click-collapsible-2-nodelay")
def collapsibles(view: View) -> Moves:
    for nth in range(len(view.all("tab"))):
        if not view.all("StaticText", quoted(view)):
            yield f"click [{view.all('tab')[nth].id}]"
    yield f"click [{view.text(quoted(view))}]"


@solves("click-tab")
def click_tab(view: View) -> Moves:
    found = re.search(r"Tab #\d", view.objective)
    assert found
    yield f"click [{view.one('link', found[0])}]"


@solves("click-tab-2", "click-tab-2-easy", "click-tab-2-medium", "click-tab-2-hard")
def click_tabs(view: View) -> Moves:
    for nth in range(len(view.all("tab"))):
        if view.all("StaticText", quoted(view)):
            break
        yield f"click [{view.all('link')[nth].id}]"
    yield f"click [{view.text(quoted(view))}]"


@solves("focus-text")
def focus(view: View) -> Moves:
    yield f"click [{view.one('textbox')}]"


@solves("focus-text-2")
def focus_nth(view: View) -> Moves:
    yield f"click [{view.one('textbox', nth=ordinal(view))}]"


@solves("enter-text", "enter-text-dynamic")
def enter_text(view: View) -> Moves:
    yield fill(view, quoted(view))
    yield view.button()


@solves("enter-text-2")
def enter_case(view: View) -> Moves:
    yield fill(view, quoted(view).upper() if "upper" in view.objective else quoted(view).lower())
    yield view.button()


@solves("enter-password")
def enter_password(view: View) -> Moves:
    yield fill(view, quoted(view))
    yield fill(view, quoted(view), 1)
    yield view.button()


@solves("login-user")
def login(view: View) -> Moves:
    yield fill(view, quoted(view))
    yield fill(view, quoted(view, 1), 1)
    yield view.button("Login")


@solves("enter-date")
def enter_date(view: View) -> Moves:
    month, day, year = re.findall(r"\d+", view.objective)[:3]
    yield fill(view, f"{year}-{month}-{day}", role="Date")
    yield view.button()


@solves("enter-time")
def enter_time(view: View) -> Moves:
    found = re.search(r"(\d+):(\d+) ([AP])M", view.objective)
    assert found
    hours = int(found[1]) % 12 + 12 * (found[3] == "P")
    yield fill(view, f"{hours:02}:{found[2]}", role="InputTime")
    yield view.button()


@solves("simple-arithmetic")
def arithmetic(view: View) -> Moves:
    sum_ = next(re.fullmatch(r"(-?\d+) ([-+x*]) (-?\d+) =", one.name) for one in view.all("StaticText"))
    assert sum_
    a, b = int(sum_[1]), int(sum_[3])
    yield fill(view, str({"+": a + b, "-": a - b}.get(sum_[2], a * b)))
    yield view.button()


@solves("simple-algebra")
def algebra(view: View) -> Moves:
    asked = next(one.name for one in view.all("StaticText") if "=" in one.name and len(one.name) > 4)
    left, right = asked.split("=")
    first, sign, second = re.fullmatch(r"\s*(x|-?\d+) ([-+]) (x|-?\d+)\s*", left).groups()  # type: ignore[union-attr]
    total = int(right)
    if second == "x":
        answer = total - int(first) if sign == "+" else int(first) - total
    else:
        answer = total - int(second) if sign == "+" else total + int(second)
    yield fill(view, str(answer))
    yield view.button()


@solves("odd-or-even")
def odd_or_even(view: View) -> Moves:
    for nth, number in enumerate(int(one.name) for one in view.all("StaticText")):
        yield f"click [{view.one('button', 'Odd' if number % 2 else 'Even', nth)}]"
    yield view.button()


@solves("guess-number")
def guess(view: View) -> Moves:
    low, high = 0, 9
    while True:
        number = (low + high) // 2
        yield fill(view, str(number), role="spinbutton")
        yield view.button()
        said = " ".join(one.name for one in view.all("StaticText"))
        if "higher" in said:
            low = number + 1
        else:
            high = number - 1


@solves("ascending-numbers")
def ascending(view: View) -> Moves:
    yield f"click [{min(view.all('StaticText'), key=lambda one: int(one.name)).id}]"
    while True:  # the numbers are hidden now; the boxes are in their order
        yield f"click [{view.one('graphics-symbol')}]"


@solves("copy-paste")
def copy(view: View) -> Moves:
    yield fill(view, view.all("textbox")[0].value, 1)
    yield view.button()


@solves("copy-paste-2")
def copy_nth(view: View) -> Moves:
    yield fill(view, view.all("textbox")[ordinal(view)].value, 3)
    yield view.button()


@solves("find-word")
def find_word(view: View) -> Moves:
    words = re.sub(r"[.,]", "", view.all("StaticText")[0].name).split()
    yield fill(view, words[ordinal(view)])
    yield view.button()


@solves("scroll-text")
def last_word(view: View) -> Moves:
    yield fill(view, view.all("textbox")[0].value.rstrip(".").split()[-1], 1)
    yield view.button()


@solves("text-transform")
def transform(view: View) -> Moves:
    yield fill(view, "".join(one.name for one in view.all("StaticText")))
    yield view.button()


def _table(view: View) -> dict[str, str]:
    cells = [one.name for one in view.all("cell")]
    return dict(zip(cells[::2], cells[1::2], strict=False))


@solves("read-table")
def read_table(view: View) -> Moves:
    found = re.search(r"value of (.*) into", view.objective)
    assert found
    yield fill(view, _table(view)[found[1]])
    yield view.button()


@solves("read-table-2")
def read_cells(view: View) -> Moves:
    labels = [one.name.rstrip(":") for one in view.all("StaticText") if one.name.endswith(":")]
    for nth, label in enumerate(labels):
        yield fill(view, _table(view)[label], nth)
    yield view.button()


@solves("multi-orderings")
def search_movies(view: View) -> Moves:
    found = re.search(r"Search for (.*) movies directed by (.*) from year (\d+)", view.objective)
    assert found
    wanted = dict(zip(("Genre", "Director", "Year"), found.groups(), strict=True))
    for nth, label in enumerate(view.all("rowheader")):
        yield fill(view, wanted[label.name], nth)
    yield f"click [{view.text('Submit')}]"


@solves("navigate-tree")
def navigate(view: View) -> Moves:
    tried: set[str] = set()
    while not view.all("StaticText", quoted(view)):
        name = next(one.name for one in view.all("StaticText") if one.name not in tried)
        tried.add(name)
        yield f"click [{view.text(name)}]"
    yield f"click [{view.text(quoted(view))}]"


@solves("form-sequence-2")
def form_sequence(view: View) -> Moves:
    first, second = (int(number) - 1 for number in re.findall(r"(\d)(?:st|nd|rd)", view.objective))
    yield f"click [{view.one('radio', nth=first)}]"
    yield fill(view, quoted(view), second)
    yield view.button()


@solves("buy-ticket")
def buy_ticket(view: View) -> Moves:
    buttons = view.all("button")
    prices = [int(one.name.rpartition("$")[2]) for one in buttons]
    times = [_minutes(one.name) for one in view.all("StaticText") if re.match(r"\d+h", one.name)]
    figures = times if "duration" in view.objective else prices
    wanted = max(figures) if re.search("longest|most", view.objective) else min(figures)
    yield f"click [{buttons[figures.index(wanted)].id}]"


def _minutes(text: str) -> int:
    hours, _, minutes = text.partition("h")
    return int(hours) * 60 + int(minutes.strip(" m") or 0)


@solves("use-spinner")
def spinner(view: View) -> Moves:
    found = re.search(r"Select (-?\d+) with", view.objective)
    assert found
    yield f"click [{view.one('spinbutton')}]"
    for _ in range(abs(int(found[1]))):  # it takes no digits
        yield f"press [Arrow{'Down' if found[1].startswith('-') else 'Up'}]"
    yield view.button()


@solves("use-autocomplete", "use-autocomplete-nodelay")
def autocomplete(view: View) -> Moves:
    ends = quoted(view, 1) if view.objective.count('"') > 2 else ""
    yield fill(view, quoted(view))
    for _ in range(3):
        offered = [one for one in view.body if one.role != "textbox" and one.name.startswith(quoted(view))]
        if fitting := [one for one in offered if one.name.endswith(ends)]:
            yield f"click [{fitting[0].id}]"
            break
        yield "wait"
    yield view.button()


@solves("phone-book")
def phone_book(view: View) -> Moves:
    found = re.search(r"Find (\w+) in the contact book and click on their (.*)\.", view.objective)
    assert found
    while not view.all("heading", found[1]):
        yield f"click [{view.one('link', '>')}]"
    label = {"phone number": "Phone:", "email": "Email:", "address": "Address:"}[found[2]]
    at = next(nth for nth, one in enumerate(view.body) if one.name == label)
    yield f"click [{next(one.id for one in view.body[at:] if one.role == 'link')}]"


@solves("search-engine")
def search_engine(view: View) -> Moves:
    yield fill(view, quoted(view))
    yield view.button("Search")
    page, nth = divmod(ordinal(view), 3)
    if page:
        yield f"click [{view.one('link', str(page + 1))}]"
    results = [one for one in view.all("link") if not re.fullmatch(r"\d+|[<>]", one.name)]
    yield f"click [{results[nth].id}]"


@solves("generate-number")
def generate(view: View) -> Moves:
    found = re.search(r"(less|greater) than (\d+)|(even|odd)", view.objective)
    assert found
    while True:
        yield view.button("Generate")
        number = next((int(one.name) for one in view.all("StaticText") if re.fullmatch(r"-?\d+", one.name)), None)
        if number is None:
            continue
        if found[3]:
            right = number % 2 == (found[3] == "odd")
        else:
            right = number < int(found[2]) if found[1] == "less" else number > int(found[2])
        if right:
            break
    yield view.button()


@solves("identify-shape")
def identify(view: View) -> Moves:
    (shown,) = [one for one in view.body if one.role in ("StaticText", "graphics-symbol")]
    if shown.role == "StaticText":
        yield view.button("Number" if shown.name.isdigit() else "Letter")


_MONTHS = "January February March April May June July August September October November December".split()


@solves("choose-date", "choose-date-easy", "choose-date-medium", "choose-date-nodelay")
def choose_date(view: View) -> Moves:
    month, day, _ = (int(part) for part in re.findall(r"\d+", view.objective)[:3])
    yield f"click [{view.one('textbox')}]"
    while not any(one.name == _MONTHS[month - 1] for one in view.body):
        (shown,) = {one.name for one in view.body if one.name in _MONTHS}
        back = _MONTHS.index(shown) > month - 1
        yield f"click [{next(one.id for one in view.body if one.name.startswith('Prev' if back else 'Next'))}]"
    yield f"click [{view.one('link', str(day))}]"
    yield view.button()


@solves("click-menu")
def click_menu(view: View) -> Moves:
    path = view.objective.removeprefix("Select ").split(">")
    for name in path[:-1]:
        yield f"hover [{view.one('menuitem', name.strip())}]"
        yield "wait"
    yield f"click [{view.one('menuitem', path[-1].strip())}]"


@solves("login-user-popup")
def login_with_popup(view: View) -> Moves:
    for nth in range(2):
        for _ in range(4):
            while cancels := [
                one for one in view.body if one.name.lower() in ("cancel", "exit", "no", "close", "dismiss")
            ]:
                yield f"click [{cancels[0].id}]"
            if view.all("textbox")[nth].value == quoted(view, nth) or (nth and view.all("textbox")[1].value):
                break
            yield fill(view, quoted(view, nth), nth)
    yield f"click [{view.all('button')[-1].id}]"


@solves("terminal")
def terminal(view: View) -> Moves:
    def typed(text: str) -> str:
        return f"clear [{view.one('textbox')}] [{text}] [1]"

    yield typed("ls")
    words = " ".join(one.name for one in view.body).partition(" ls ")[2].split()
    files = [word for word in words if re.fullmatch(r"[\w-]+(\.\w+)?", word) and word != "user"]
    found = re.search(r"extension (\.\w+)", view.objective)
    wanted = [one for one in files if ("." in one and one.endswith(found[1])) if found] if found else files
    yield typed(f"rm {next((one for one in wanted if found or '.' not in one), wanted[0])}")


@solves("click-scroll-list")
def scroll_list(view: View) -> Moves:
    names = view.objective.removeprefix("Select ").partition(" from ")[0].split(", ")
    for name in names:
        yield f"click [{view.one('option', name)}]"
    yield view.button()
