"""Fenced blocks of code in a chat reply, as CommonMark has them and as models write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

# Before an opening fence stand a list's or a quotation's marks, or words; behind it a language, with or without attributes.
OPENING = re.compile(r"(?P<before>(?P<marks>[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?)[^`~]*?)(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)")
ON_ONE_LINE = re.compile(r"[^`]*(`{3,})(?:(?:python|py)\d?\s+)?([^`]+)\1[^`]*")


@dataclass(frozen=True, slots=True)
class Block:
    """The code of a block. before: the text above it. tagged: whether its fence says something, which a closing one never does."""

    code: str
    before: str
    tagged: bool
    closed: bool


def first_block(text: str) -> Block | None:
    """The first block of a text whose lines end with line feeds, up to its closing fence or else to the end of the text."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        above = "\n".join(lines[:number])
        if match := OPENING.fullmatch(line):
            if match["before"] != match["marks"] and match["fence"][0] == "~":
                continue  # words before a fence are a habit with backticks only
            code, closed = inside(lines[number + 1 :], match["fence"], len(match["marks"].expandtabs(4)))
            words = match["before"][len(match["marks"]) :]
            return Block(code, f"{above}\n{words}" if number else words, bool(match["info"].strip()), closed)
        if match := ON_ONE_LINE.fullmatch(line):
            return Block(match[2].strip() + "\n", above, True, True)
    return None


def inside(lines: Sequence[str], fence: str, indent: int) -> tuple[str, bool]:
    """The code behind an opening fence, without the indentation of the fence, and whether a closing one comes."""
    closing = re.compile(rf"(?P<code>.*?)(?<!{fence[0]}){fence[0]}{{{len(fence)},}}\s*")
    code: list[str] = []
    for line in lines:
        line = outdented(line, indent)
        if match := closing.fullmatch(line):
            last = match["code"].strip(" \t>")
            if not last or fence[0] not in last:
                return "\n".join([*code, *([match["code"]] if last else []), ""]), True
        code.append(line)
    return "\n".join(code), False


def outdented(line: str, indent: int) -> str:
    """A line without up to `indent` columns of blanks and quotation marks."""
    taken = 0
    while taken < indent and line[:1] in (" ", "\t", ">") and line:
        taken += 4 if line[0] == "\t" else 1
        line = line[1:]
    return line
