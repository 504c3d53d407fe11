"""The token rule for a single character says what NLTK's tokenizer says, also where it does without it."""

import random
import subprocess
import sys

import pytest

from harness.evaluators.text_match import includes_token

PIECES = (*"ab1 2.,'\"`-–“”‘’()[]!?:;$%&…\n\u00a0\u2028é", "cannot", "'tis", "more'n", "...", "a.m.", "2)", "n't", "``")


def by_nltk(phrase: str, text: str) -> bool:
    from nltk.tokenize.destructive import NLTKWordTokenizer
    from nltk.tokenize.punkt import PunktSentenceTokenizer

    words, sentences = NLTKWordTokenizer(), PunktSentenceTokenizer()
    if len(words.tokenize(phrase)) != 1:
        return phrase in text
    return phrase in [word for sentence in sentences.tokenize(text) for word in words.tokenize(sentence)]


@pytest.mark.parametrize("seed", range(3))
def test_it_says_what_nltk_says(seed: int) -> None:
    chance = random.Random(seed)
    phrases = [piece for piece in PIECES if len(piece) == 1 and not piece.isspace()]
    for _ in range(500):
        text = chance.choice(("", " ")).join(chance.choices(PIECES, k=chance.randint(0, 9)))
        phrase = chance.choice(phrases)
        assert includes_token(phrase, text) == by_nltk(phrase, text), (phrase, text)


def test_a_plain_answer_is_judged_without_nltk() -> None:
    program = (
        "import sys; from harness.evaluators.text_match import includes_token\n"
        "assert includes_token('3', 'there are 3 of them') and not includes_token('3', 'two')\n"
        "assert 'nltk' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
