"""Cutting an observation to a number of tokens, without the tokenizer of any model.

The rule is ours and errs on the side of counting too many, so that a prompt never outgrows what was planned: a token is
a run of up to four ASCII letters, digits or underscores, or a run of tabs and line breaks, or any other single
character that is not blank. English prose comes out about a third above what GPT tokenizers count.
"""

import re

_TOKEN = re.compile(r"[A-Za-z0-9_]{1,4}|[\t\n]+|[^\sA-Za-z0-9_]")


def trim(text: str, max_tokens: int) -> str:
    """`text` itself when it fits, else its first whole lines and a last line that tells what is missing.

    Args:
        text: An observation.
        max_tokens: 0 = no limit. The last line is not counted.
    """
    end = _end_of(text, max_tokens) if max_tokens else None
    if end is None:
        return text
    kept = text[: text.rfind("\n", 0, end) + 1] or f"{text[:end]}\n"
    missing = text.count("\n", len(kept)) + 1
    return f"{kept}(cut here: {missing} more line{'s exceed' * (missing != 1) or ' exceeds'} the token limit)"


def _end_of(text: str, max_tokens: int) -> int | None:
    """The offset where token number `max_tokens` ends; None when nothing follows it."""
    end = 0
    for number, token in enumerate(_TOKEN.finditer(text), start=1):
        if number > max_tokens:
            return end
        end = token.end()
    return None
