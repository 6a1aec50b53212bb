"""What is known of a rule, as data: a page and a README list these cards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # the settings ask the registry for the rules' names, so no rule may need them to be imported
    from ..branch import Branch
    from ..canvas import Canvas
    from ..observation import Observation
    from ..settings import DecodeSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """name: as in the settings; kind: which part of a decoder it is; source: the paper; formula: the rule in a line;
    defaults: what the source uses; rows, tokens: what a round costs beyond one row and its window; inferred: what here
    is our reconstruction or our own."""

    name: str
    kind: str
    title: str
    source: str
    formula: str
    defaults: str = ""
    rows: str = "none"
    tokens: str = "none"
    inferred: str = ""


Pick = Callable[["Canvas", np.ndarray, "Observation", "DecodeSettings"], np.ndarray]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """A rule that says which masks are filled.

    pick(canvas, slots, seen, settings): indices into `slots`, the masked slots of the winner in ascending order, never
    none of at least one slot. columns: what it needs to see besides token, probability and confidence (columns.py).
    futures: whether it compares with predictions from a possible future (futures.py). course: whether it follows
    the probabilities of written tokens (saber.py). greedy: whether it makes sense at temperature 0 only.
    """

    card: Card
    pick: Pick
    columns: tuple[str, ...] = ()
    futures: bool = False
    course: bool = False
    greedy: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminator:
    """A rule that says when to fill all masks at once, beside any selection. settled(canvas, slots, seen, settings): of the masks left."""

    card: Card
    settled: Callable[[Canvas, np.ndarray, Observation, DecodeSettings], bool]
    columns: tuple[str, ...] = ()


PickIn = Callable[["Canvas", np.ndarray, "Observation"], np.ndarray]
Spawn = Callable[["Canvas", np.ndarray, "Observation", "DecodeSettings"], "list[Branch]"]
Weigh = Callable[["Sequence[Branch]", "Sequence[np.ndarray]", "Sequence[Observation]", "DecodeSettings", PickIn], "list[float]"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Branching:
    """A rule that makes branches of a canvas and says which one goes on.

    spawn(canvas, slots, seen, settings): the branches of the next round, at most lookahead + 1, the anchor last
    if there is one; slots, seen: the masks left after the fill. weigh(branches, slots, seen, settings, pick): a score per
    branch, the highest wins; pick(canvas, slots, seen) is what would be filled.
    """

    card: Card
    spawn: Spawn
    weigh: Weigh
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Remasking:
    """A rule that takes written tokens of the active blocks back.

    doubted(slots, seen, filled, surplus, settings): which of the written `slots`; seen.claims is the probability of the token
    that stands there, filled the number of slots that this round has written, surplus how many more slots are decided by now
    than rounds have passed: the text gains a slot per round as long as fewer than filled, or no more than surplus, are taken
    back. blind: read by a copy that does not know the token, else by the row that does. course: whether it follows written
    tokens (saber.py).
    """

    card: Card
    doubted: Callable[[np.ndarray, Observation, int, int, DecodeSettings], np.ndarray]
    blind: bool
    course: bool = False
