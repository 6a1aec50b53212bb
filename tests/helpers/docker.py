"""A Dockerfile and its .dockerignore as data, so that their steps can be run where there is no Docker.

Of both languages this knows what ours use; a pattern of another kind is an error.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path


def steps(path: Path) -> list[tuple[str, str]]:
    """(instruction, argument) in order, without comments, lines that go on joined as Docker does."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n", "", "\n".join(lines))
    return [(line.split()[0].upper(), line.split(maxsplit=1)[1]) for line in joined.splitlines() if line.strip()]


def options(argument: str) -> tuple[dict[str, str], str]:
    """The --name=value options in front of an argument, and the rest."""
    found = re.match(r"(?:--\S+\s+)*", argument).group()
    return dict(option.removeprefix("--").split("=", 1) for option in found.split()), argument[len(found) :]


def environment(found: list[tuple[str, str]], given: dict[str, str]) -> dict[str, str]:
    """What ARG and ENV leave in the environment of a container whose base image has `given`."""
    result = dict(given)
    for name, argument in found:
        if name in ("ARG", "ENV"):
            for pair in shlex.split(argument):
                key, _, value = pair.partition("=")
                result[key] = re.sub(r"\$\{?(\w+)\}?", lambda match: result.get(match[1], ""), value)
    return result


def context(root: Path) -> Iterator[Path]:
    """The files, relative to `root`, that `COPY . .` takes."""
    patterns = [pattern(line) for line in (root / ".dockerignore").read_text(encoding="utf-8").split("\n") if line and line[0] != "#"]

    def ignored(path: Path) -> bool:
        return any(each.fullmatch(path.as_posix()) for each in patterns)

    for folder, folders, files in os.walk(root):
        here = Path(folder).relative_to(root)
        folders[:] = [name for name in folders if not ignored(here / name)]
        yield from (here / name for name in files if not ignored(here / name))


def pattern(line: str) -> re.Pattern[str]:
    """A line of .dockerignore, for a path from the root: * is no slash, **/ is any number of folders."""
    if not re.fullmatch(r"(\*\*/)?[\w.*/-]+", line) or line.startswith("/") or line.endswith("/") or "**" in line.removeprefix("**/"):
        raise ValueError(f".dockerignore: {line!r} is of a kind that this does not know")
    known = {"**/": "(?:.*/)?", "*": "[^/]*"}
    return re.compile("".join(known.get(piece, re.escape(piece)) for piece in re.split(r"(\*\*/|\*)", line)))
