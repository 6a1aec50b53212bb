"""Stop strings: where an answer ends that the model itself would not end."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import takewhile

Decode = Callable[[Sequence[int]], str]


def cut(text: str, until: Sequence[str]) -> str:
    """The text before the first stop string."""
    return text[: min((place for place in map(text.find, until) if place >= 0), default=len(text))]


def settled(tokens: Sequence[int], mask_id: int) -> list[int]:
    """The tokens before the first mask: no later round changes what they say, unless it takes them back."""
    return list(takewhile(lambda token: token != mask_id, tokens))


def stopped(tokens: Sequence[int], until: Sequence[str], decode: Decode) -> bool:
    """Whether their text has a stop string."""
    text = decode(tokens) if until else ""
    return any(each in text for each in until)


def needed(tokens: Sequence[int], until: Sequence[str], decode: Decode) -> int:
    """How many of the tokens it takes until a stop string is complete; all where there is none."""
    return bisect_left(range(len(tokens)), True, key=lambda count: stopped(tokens[:count], until, decode))
