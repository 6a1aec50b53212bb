"""The program in a chat reply: its first fenced block, or what of it is code, joined to the program that the prompt began."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from textwrap import dedent, indent
from typing import Any

from .fences import first_block

CODE_BEGINS = re.compile(r"\s*(?:def|async|class|import|from|@)\b|\s*@")

MOST_STARTS = 10  # where the code of a reply without fences may begin


def program(begun: str, entry: str | None, reply: str) -> str:
    """The whole program of a reply.

    Args:
        begun: the program that the prompt began, empty where it began none.
        entry: the function that the program is called by; None where nothing says its name.
        reply: the text, with line ends of any system.
    """
    reply = reply.replace("\r\n", "\n")
    block = first_block(reply)
    if block is None:
        return longest(begun, entry, reply) or begun + reply
    if not block.tagged and (above := longest(begun, entry, block.before, whole=True)):
        return above  # the prompt opened the block, and the reply closes it
    joined = join(begun, entry, block.code)
    return joined if block.closed or compiles(joined) else longest(begun, entry, block.code) or joined


def longest(begun: str, entry: str | None, text: str, *, whole: bool = False) -> str | None:
    """The program by the longest run of a text's lines that is code; None where there is none. whole: all of its lines or none."""
    lines = text.split("\n")
    starts = [0, *(place for place, line in enumerate(lines) if place and CODE_BEGINS.match(line))]
    for start in starts[: 1 if whole else MOST_STARTS]:
        for end in (len(lines),) if whole else range(len(lines), start, -1):
            piece = "\n".join(lines[start:end]) + "\n"
            if is_code(piece) and compiles(joined := join(begun, entry, piece)):
                return joined
    return None


def join(begun: str, entry: str | None, code: str) -> str:
    """What was begun with the code of a reply: the whole anew, or the rest, which may have lost its indentation."""
    return next(filter(compiles, ways(begun, entry, code)), next(ways(begun, entry, code)))


def ways(begun: str, entry: str | None, code: str) -> Iterator[str]:
    if not begun or defines(entry, code):
        code = dedent(code)
        yield f"{begun}\n{code}" if begun else code
        yield begun[: begun.find(f"def {entry}")] + code  # what was begun may have no body yet
        return
    yield begun + code
    begun = begun.rstrip()
    margin = re.match(r"\s*", begun.split("\n")[-1])[0] or " " * 4
    yield f"{begun}\n{margin}{code.lstrip()}"
    yield f"{begun}\n{indent(dedent(code), margin)}"


def defines(entry: str | None, code: str) -> bool:
    name = re.escape(entry or "")
    return re.search(rf"^[ \t]*(?:async[ \t]+)?def[ \t]+{name}[ \t]*[(\[]|^{name}[ \t]*=[^=]", code, re.MULTILINE) is not None


def is_code(text: str) -> bool:
    """Whether a text is statements of Python that do something, which a word or two or "Answer: yes" do not, though they parse."""
    bodies = (indent(dedent(text), " "), " " * 4 + text.lstrip())  # the first line may have lost its indentation
    body = next(filter(None, (parsed(f"def f():\n{each}", ast.PyCF_ONLY_AST) for each in bodies)), None)
    return body is not None and any(acts(each) for each in body.body[0].body)


def acts(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.AnnAssign):
        return statement.value is not None
    return not isinstance(statement, ast.Expr) or isinstance(statement.value, (ast.Call, ast.Await, ast.Yield, ast.YieldFrom))


def compiles(code: str) -> bool:
    """Whether it is Python; nothing of it is run."""
    return parsed(code) is not None


def parsed(code: str, flags: int = 0) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what a program says, such as unknown escapes
        try:
            return compile(code, "<reply>", "exec", flags, dont_inherit=True)
        except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
            return None
