"""Cutting texts that others wrote, so that no page and no model decides how large something of ours becomes."""

MOST_OF_A_MESSAGE = 4000
"""Characters of an error, which may quote a page's address."""


def cut(text: str, most: int) -> str:
    """`text` itself when it has at most `most` characters, else its beginning and how much is missing, `most` in
    all.
    """
    if len(text) <= most:
        return text
    missing = len(text) - most
    # Tried again, as the number that the ending says depends on how long the ending is.
    while len(ending := f"… ({missing} more characters)") > missing - (len(text) - most):
        missing = len(text) - most + len(ending)
    return text[: most - len(ending)] + ending
