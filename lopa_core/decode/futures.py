"""Which copies a round superposes: LEAP's candidates and their judges, and what else is to be judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .branch import Branch
from .observation import Observation
from .past import Past
from .rules.registry import NONE, REMASKINGS, superposes
from .settings import DecodeSettings
from .superposed import Copies, Layout, layout, linked, stack, witnessed


@dataclass(frozen=True, slots=True)
class Judges:
    """Columns that are asked besides those of masks: rows [j], columns [j] of the window and its copies, the slots [j]
    they are about, and targets [j], the token that stands there (the mask id where none does)."""

    rows: np.ndarray
    columns: np.ndarray
    slots: np.ndarray
    targets: np.ndarray

    def futures(self, slots: list[np.ndarray], seen: list[Observation], told: Observation) -> list[Observation]:
        """Each branch's observation with the prediction its judges `told` of its masked slots; token -1 where there is none."""
        whole = []
        for row, (own, each) in enumerate(zip(slots, seen)):
            tokens, probabilities = np.full(len(own), -1), np.zeros(len(own), dtype=np.float32)
            asked = (self.rows == row) & np.isin(self.slots, own)
            places = np.searchsorted(own, self.slots[asked])
            tokens[places], probabilities[places] = told.tokens[asked], told.probabilities[asked]
            whole.append(each._replace(future_tokens=tokens, future_probabilities=probabilities))
        return whole


def judging(
    branches: Sequence[Branch], masked: list[np.ndarray], settings: DecodeSettings, past: Past, start: int, width: int, *, shifted: bool
) -> tuple[Copies | None, Judges | None]:
    """The copies of a round over a window start..start + width, and who is asked besides the masks; None where no rule asks."""
    if superposes(settings):
        copies, judges = superpose(branches, masked, settings, past, shifted=shifted)
        return copies, replace(judges, columns=judges.columns + width)
    if settings.remask != NONE:
        return None, reread(branches, start, shifted=shifted)
    return None, None


def superpose(
    branches: Sequence[Branch], masked: list[np.ndarray], settings: DecodeSettings, past: Past, *, shifted: bool
) -> tuple[Copies | None, Judges]:
    """(Copies, Judges) of a round; no Copies where nothing is to be judged. masked: each branch's masked slots.

    The judges' columns are counted from the first copy.
    """
    likely = past.before.likely(settings.leap_eta) if past.before else {}
    blind = settings.remask != NONE and REMASKINGS[settings.remask].blind
    layouts, links, judges = [], [], []
    for row, (branch, slots) in enumerate(zip(branches, masked)):
        candidates = {slot: likely[slot] for slot in slots.tolist() if slot in likely}
        written = branch.canvas.written().tolist() if blind else []
        own, seen = arranged(branch, candidates, sorted([*candidates, *written]), settings, shifted)
        kept = candidates.keys() & witnessed(own, seen)
        if len(kept) < len(candidates):
            own, seen = arranged(branch, candidates if kept else {}, sorted([*kept, *written]), settings, shifted)
        layouts.append(own)
        links.append(seen)
        judges += [(row, column, slot, branch.canvas.tokens[slot]) for slot, column in own.answers.items()]
    if not judges:
        return None, gathered(judges)
    first = branches[0].canvas
    return stack(layouts, links, len(first.tokens), first.mask_id), gathered(judges)


def reread(branches: Sequence[Branch], start: int, *, shifted: bool) -> Judges:
    """The originals of written slots as judges, where the row that predicts them is in the window."""
    judges = []
    for row, branch in enumerate(branches):
        slots = branch.canvas.written()
        slots = slots[slots - shifted >= start]
        judges += [(row, slot - shifted - start, slot, branch.canvas.tokens[slot]) for slot in slots.tolist()]
    return gathered(judges)


def gathered(judges: list[tuple[int, int, int, int]]) -> Judges:
    """From (row, column, slot, target) of each."""
    return Judges(*np.array(judges, dtype=np.int64).reshape(-1, 4).T)


def arranged(
    branch: Branch, candidates: dict[int, int], judged: list[int], settings: DecodeSettings, shifted: bool
) -> tuple[Layout, np.ndarray]:
    """Layout and links of one row."""
    canvas = branch.canvas
    own = layout(canvas, candidates, judged, shifted=shifted)
    causal = settings.attention == "block_causal"
    block = np.maximum(canvas.block_of(own.slots), -1) if causal else np.zeros(len(own.slots), dtype=np.int64)
    return own, linked(own, block, clique=settings.leap_links == "clique")


def room(settings: DecodeSettings, shifted: bool) -> int:
    """Copies that a row may have at most: room in the cache for their keys and values."""
    return (2 + shifted) * settings.slots if superposes(settings) else 0
