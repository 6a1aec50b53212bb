"""The tasks by name: endless problems with checkable answers, in two splits."""

from __future__ import annotations

import random
from collections.abc import Iterator

from . import word_lists, word_problems
from .problem import Problem

LISTS_SHARE = 0.3  # of the mixed task


def mixed(count: int, *, seed: int = 0, split: str = "train", start: int = 0, lists: float = LISTS_SHARE) -> Iterator[Problem]:
    """Word problems and word lists, a share `lists` of them; which an index is depends on seed and split alone."""
    for index in range(start, start + count):
        drawn = random.Random(f"mixed/{seed}/{split}/{index}").random()
        yield (word_lists if drawn < lists else word_problems).problem(seed, index, split)


TASKS = {"mixed": mixed, "word-problems": word_problems.problems, "word-lists": word_lists.problems}
TITLES = {"mixed": "word problems and word lists", "word-problems": "word problems", "word-lists": "word lists"}


def title(task: str) -> str:
    """A task of a report in words."""
    return TITLES.get(task, task.replace("-", " "))
