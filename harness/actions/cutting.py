"""Cutting texts that others wrote, so that no page and no model decides how large something of ours becomes."""


def cut(text: str, most: int) -> str:
    """`text` itself when it has at most `most` characters, else its beginning and how much is missing."""
    if len(text) <= most:
        return text
    return f"{text[:most]}… ({len(text) - most} more characters)"
