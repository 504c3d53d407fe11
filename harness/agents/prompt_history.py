"""Which of the past steps a prompt repeats as turns of the conversation, so that providers can cache its beginning.

Each turn is repeated as it was sent, so a prompt is the previous one with something behind it. What no longer fits is
not dropped one step at a time, which would change the prompt's beginning every time, but half of it at once: with k
steps of equal size, 1 - 8/(3k) of all bytes sent are then the unchanged beginning of the next prompt, and all of them
until the first drop. Pure: what is dropped follows from the episode, so a resumed one sends the same prompts.
"""

from collections.abc import Sequence

MOST_OF_A_REPLY = 20_000
"""Characters of a past answer that is repeated."""


def first_kept(sizes: Sequence[int], *, most: int, budget: int) -> int:
    """Index of the first past step that is still repeated.

    Args:
        sizes: Tokens of each past step, oldest first.
        most: Steps repeated at most.
        budget: Tokens of all of them together at most.
    """
    first = total = 0
    for number, size in enumerate(sizes, start=1):
        total += size
        if number - first > most or total > budget:
            while number - first > most // 2 or total > budget // 2:
                total -= sizes[first]
                first += 1
    return first


def turn_tokens(page: str, reply: str, *, most: int) -> int:
    """Tokens of a past step, about: those of its page, at most `most` (0 = no limit), and of its reply."""
    return min(rough_tokens(page), most or MOST_OF_A_REPLY) + rough_tokens(reply[:MOST_OF_A_REPLY])


def rough_tokens(text: str) -> int:
    """Tokens of a text, rather too many: three bytes of UTF-8 each, whatever the model."""
    return -(-len(text.encode(errors="replace")) // 3)
