"""Several decodes under way on one device: they take turns, a forward pass each.

Their passes cannot be rows of one forward: the prefix in an engine's cache is one for all of its rows. So a turn costs
what it costs alone; what several in flight bring is that short answers do not wait for long ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

Told = TypeVar("Told")


def in_turn(jobs: Iterable[Iterator[Told | None]], width: int) -> Iterator[Told]:
    """What the jobs come to, in the order they finish. A job yields None after every step and its result at the end.

    width: so many are under way at once; a job is taken from `jobs` only when there is room for it.
    """
    waiting = iter(jobs)
    running = deque(islice(waiting, width))
    while running:
        job = running.popleft()
        told = next(job)
        if told is None:
            running.append(job)
            continue
        yield told
        running.extend(islice(waiting, 1))
