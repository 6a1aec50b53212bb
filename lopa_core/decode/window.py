"""What one forward pass reads: the active part of every branch, and the slots it has to answer for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..model.family import ModelConfig
from .branch import Branch
from .futures import Judges, judging
from .observation import Observation
from .past import Past
from .reach import answers
from .rules.registry import NONE
from .settings import DecodeSettings
from .superposed import PADDING, Copies


@dataclass(frozen=True, slots=True)
class Window:
    """Input of one forward for B branches over W columns, which are the slots start..start + W.

    tokens [B, W]; ends [B]: slot behind the last one of each branch, columns from there on are padding;
    columns [B, M]: the columns whose predictions are wanted, of each row as many as the neediest has; queries [n]:
    which of these are meant, flat into [B * M]; uniforms [n] or None: draws for sampling.
    prompt, block_size: where blocks begin, for block-causal attention. credit_tokens, credit [n, K] or None: what is
    added to the logits of a query (rules/credit.py). copies: columns W.. are these. targets [n] or None: tokens whose
    probability is asked. kept: the slot up to which keys and values behind the window are seen as they are in the cache; 0: none.
    thin: of all rows but the last only the columns that are asked and those that differ from it are computed, the others are
    read as the last row has them (reach "masks").
    """

    tokens: np.ndarray
    start: int
    ends: np.ndarray
    columns: np.ndarray
    queries: np.ndarray
    uniforms: np.ndarray | None
    prompt: int
    block_size: int
    credit_tokens: np.ndarray | None = None
    credit: np.ndarray | None = None
    copies: Copies | None = None
    targets: np.ndarray | None = None
    kept: int = 0
    thin: bool = False

    @property
    def even(self) -> bool:
        """Whether no row has padding."""
        return bool((self.ends == self.start + self.tokens.shape[1]).all())


class Engine(Protocol):
    """Where forwards run. One engine serves one decode at a time."""

    config: ModelConfig

    def open(self, rows: int, length: int, settings: DecodeSettings) -> None:
        """Make room for `rows` branches of `length` slots."""

    def forward(self, window: Window) -> Observation:
        """Run all branches in one forward; one record per query."""

    def close(self) -> None:
        """Give back the room; `open` makes it anew."""

    def commit(self, row: int, start: int, end: int) -> None:
        """Row `row` won: its keys and values of slots start..end become the prefix of all branches."""

    def keep(self, row: int) -> None:
        """Row `row` won: its distributions are what the next forward's are compared with. Asked by some rules only."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a forward is asked: rows, columns of the window, the slots they are about, the tokens whose probability counts; all [n].

    order: how these were sorted by row where judges were added; None where they were not.
    """

    rows: np.ndarray
    columns: np.ndarray
    slots: np.ndarray
    targets: np.ndarray | None = None
    order: np.ndarray | None = None

    def beside(self, judges: Judges | None, mask_id: int) -> Asked:
        """With the judges' questions in their rows."""
        if judges is None:
            return self
        rows = np.concatenate((self.rows, judges.rows))
        order = np.argsort(rows, kind="stable")
        targets = np.concatenate((np.full(len(self.rows), mask_id), judges.targets))
        columns, slots = np.concatenate((self.columns, judges.columns)), np.concatenate((self.slots, judges.slots))
        return Asked(rows[order], columns[order], slots[order], targets[order], order)


@dataclass(slots=True)
class Sight:
    """The window of a round and which masked slots of which branch it answers for."""

    window: Window
    slots: list[np.ndarray]  # per branch: its masked slots
    bounds: list[int]  # where each branch's slots begin among all, and their number
    own: int  # how many of these were asked about
    answers: np.ndarray  # [all slots] which of the own answers is about it; `own` is the boundary prediction
    judges: Judges | None = None
    order: np.ndarray | None = None  # with judges: the window's queries among those of slots, then those of judges
    told: Observation | None = None  # what the judges said, once they were asked

    @property
    def copies(self) -> int:
        """Superposed tokens over all rows, padding not counted."""
        return 0 if self.window.copies is None else int((self.window.copies.kinds != PADDING).sum())

    def split(self, seen: Observation, boundary: Observation | None) -> list[Observation]:
        """One observation per branch, the boundary prediction of earlier and what is the anchor's put in their places."""
        if self.judges:
            seen = seen.part(np.argsort(self.order))
            self.told = seen.part(slice(self.own, None))
            return self.judges.futures(self.slots, self.parts(seen.part(slice(self.own)), boundary), self.told)
        return self.parts(seen, boundary)

    def opinion(self, row: int) -> tuple[np.ndarray, Observation]:
        """The written slots of a branch that were judged, and what was said of them."""
        about = (self.judges.rows == row) & ~np.isin(self.judges.slots, self.slots[row])
        return self.judges.slots[about], self.told.part(about)

    def parts(self, seen: Observation, boundary: Observation | None) -> list[Observation]:
        """Of the masked slots alone."""
        if self.own < len(self.answers):
            known = Observation.join((seen, boundary)) if self.own in self.answers else seen
            seen = known.part(self.answers)
        return [seen.part(slice(low, high)) for low, high in zip(self.bounds, self.bounds[1:])]


PER_QUERY = ("uniforms", "credit_tokens", "credit", "targets")  # fields of a window that have a row per query, or are None


def look(
    branches: Sequence[Branch], settings: DecodeSettings, past: Past, boundary: Observation | None, *, shifted: bool, round_index: int
) -> Sight:
    """Lay out one forward. All branches share the committed prefix and the span that is to be committed.

    boundary: the prediction of the first slot behind the cache, from the round that a shifted model's row before it was last
    read in; None where that slot was not masked then.
    """
    first = branches[0].canvas
    outside = first.committed > 0 and shifted  # the row before the window predicts its first slot
    refresh = outside and (predicts_anew(settings, past) or (boundary is None and open_at(branches, first.committed)))
    start = first.committed - refresh
    opened = ends = np.array([branch.canvas.end for branch in branches])
    if settings.suffix != NONE:  # masks of unopened blocks are seen, but not asked about
        whole = settings.suffix == "masks" or first.closing > first.committed
        ends = np.full(len(branches), len(first.tokens) if whole else opened.max())
    if settings.reach != "window":  # what the anchor has not opened yet is left for the next round
        opened, ends = np.minimum(opened, opened[-1]), np.minimum(ends, ends[-1])
    width = int(ends.max()) - start
    tokens = np.stack([branch.canvas.tokens[start : start + width] for branch in branches])
    masked = (tokens == first.mask_id) & (np.arange(start, start + width) < opened[:, None])
    masked[:, : first.closing - start] = False  # a prompt may hold the mask id
    rows, slots = np.nonzero(masked)
    slots += start
    fresh, whose = answers(branches, rows, slots, settings, first.committed + (outside and not refresh))
    bounds = np.searchsorted(rows, np.arange(len(branches) + 1)).tolist()
    apart = [slots[low:high] for low, high in zip(bounds, bounds[1:])]
    copies, judges = judging(branches, apart, settings, past, start, width, shifted=shifted)
    asked = Asked(rows[fresh], slots[fresh] - shifted - start, slots[fresh]).beside(judges, first.mask_id)
    columns, queries = ask(asked.rows, asked.columns, len(branches))
    uniforms = None
    if settings.temperature > 0:
        draws = np.random.default_rng((settings.seed, round_index)).random(len(first.tokens), dtype=np.float32)
        uniforms = draws[asked.slots]  # one draw per slot and round: branches see common random numbers
    credit = past.credit.of(asked.slots) if past.credit else (None, None)
    targets = asked.targets if settings.remask != NONE else None
    kept = len(first.tokens) if settings.suffix == "cached" else 0
    window = Window(
        tokens, start, ends, columns, queries, uniforms, first.prompt, first.block_size, *credit, copies, targets, kept,
        thin=settings.reach == "masks",
    )  # fmt: skip
    return Sight(window, apart, bounds, len(fresh), whose, judges, asked.order)


def predicts_anew(settings: DecodeSettings, past: Past) -> bool:
    """Whether the boundary prediction changes from round to round.

    Under block-causal attention its row sees nothing of the window, so that it stays exact; unless a rule compares it with the
    round before, or adds credit to it.
    """
    return past.follows_logits or (settings.refresh_boundary and settings.attention == "full")


def open_at(branches: Sequence[Branch], slot: int) -> bool:
    """Whether `slot` is an open mask of any branch; it may be one again, where a rule takes tokens back."""
    return any(slot < branch.canvas.end and branch.canvas.tokens[slot] == branch.canvas.mask_id for branch in branches)


def ask(rows: np.ndarray, wanted: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The `wanted` columns of `rows` as a padded table [count, M], and where in it they lie, flat."""
    counts = np.bincount(rows, minlength=count)
    meant = np.arange(max(counts.max(), 1)) < counts[:, None]
    columns = np.zeros(meant.shape, dtype=np.int64)
    columns[meant] = wanted
    return columns, np.flatnonzero(meant)
