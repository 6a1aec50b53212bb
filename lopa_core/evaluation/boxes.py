r"""Boxes of LaTeX: \boxed{2}, \fbox{2}, and \boxed 2, as MATH's own solutions have them."""

from __future__ import annotations

import re
from dataclasses import dataclass

BOX = re.compile(r"\\(?:boxed|fbox)(?![A-Za-z])\s*")
BARE = re.compile(r"[^$\n]*?(?=\s*(?:\$|\\\)|\\\]|[.,;]?\s*(?:\n|\Z)))")
BRACE = re.compile(r"\\.|[{}]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Box:
    """What is in a box, None where it does not end, and where the whole stands."""

    content: str | None
    start: int
    end: int


def boxes(text: str) -> list[Box]:
    """All boxes of a text, in order."""
    ends, open_braces = {}, []
    for brace in BRACE.finditer(text):
        if brace[0] == "{":
            open_braces.append(brace.start())
        elif brace[0] == "}" and open_braces:
            ends[open_braces.pop()] = brace.start()
    return [read(text, match, ends) for match in BOX.finditer(text)]


def read(text: str, match: re.Match[str], ends: dict[int, int]) -> Box:
    """The box that a command begins. ends: where the brace closes that opens at a place."""
    start = match.end()
    if not text.startswith("{", start):
        bare = BARE.match(text, start)
        return Box(bare[0] if bare and bare[0] else None, match.start(), bare.end() if bare else start)
    if start not in ends:
        return Box(None, match.start(), len(text))
    return Box(text[start + 1 : ends[start]], match.start(), ends[start] + 1)


def with_braces(text: str) -> str | None:
    r"""The text with its last box written \boxed{...}, as lm-evaluation-harness reads it; None where it has no box that ends."""
    every = boxes(text)
    last = every[-1] if every else None
    if last is None or not (last.content or "").strip():
        return None
    before = re.sub(r"\\(?:boxed|fbox)(?![A-Za-z])[ ]*", lambda _: r"\boxed", text[: last.start])
    return f"{before}\\boxed{{{last.content}}}{text[last.end :]}"
