"""Superposed copies: slots that a forward reads a second time, in another context, at their original positions.

Behind the W columns of a window stand E copies. No original sees a copy, so what the originals say is unchanged.
Candidate copies are tokens that may come (LEAP): they stand in the place of their masks. A judge says what it would
predict for a slot if it did not know that slot's token: it sees the window with all candidates but its own in place.

    row \\ column         original              candidate copy        mask copy of i   query copy of i
    original             as ever               no                    no               no
    candidate copy of i  not of candidates     own (star) or all     no               no
    mask copy of i       not of candidates, i  all but i's           own              no
    query copy of i      not of candidates,    all but those of i    yes              own
                         i and i - 1           and i - 1

A model that is not shifted is asked at the mask copy of i. A shifted one predicts slot i from the row before it: a
query copy of the token at i - 1 stands there. Under block-causal attention every copy also keeps to its block.
The table is our reconstruction of LEAP's superposition (arXiv 2605.10980); without candidates, the judges are WINO's
shadow block (arXiv 2507.18578).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from .canvas import Canvas

PADDING, CANDIDATE, MASK, QUERY = range(4)


@dataclass(frozen=True, slots=True)
class Copies:
    """E copies behind each of B rows. kinds, tokens, slots, judged, links are [B, E, ...].

    slots: where a copy stands; judged: the slot a judge is about, a candidate's own slot. A copy sees the original of
    neither. hidden [B, S]: originals that no copy sees, of slots 0..S. links [B, E, E]: which copies a copy sees.
    """

    kinds: np.ndarray
    tokens: np.ndarray
    slots: np.ndarray
    judged: np.ndarray
    hidden: np.ndarray
    links: np.ndarray

    def part(self, rows: slice) -> Copies:
        return Copies(*(getattr(self, each.name)[rows] for each in fields(self)))


@dataclass(frozen=True, slots=True)
class Layout:
    """One row's copies: kinds, tokens, slots, judged [e], and which copy answers for which slot."""

    kinds: np.ndarray
    tokens: np.ndarray
    slots: np.ndarray
    judged: np.ndarray
    answers: dict[int, int]


def layout(canvas: Canvas, candidates: dict[int, int], judged: list[int], *, shifted: bool) -> Layout:
    """The copies of one branch. candidates: {slot: token}; judged: slots to be asked about, in ascending order."""
    rows = [(CANDIDATE, token, slot, slot) for slot, token in candidates.items()]
    answers = {}
    for slot in judged:
        rows.append((MASK, canvas.mask_id, slot, slot))
        if shifted:
            rows.append((QUERY, candidates.get(slot - 1, int(canvas.tokens[slot - 1])), slot - 1, slot))
        answers[slot] = len(rows) - 1
    columns = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    return Layout(*columns, answers)


def linked(own: Layout, block: np.ndarray, *, clique: bool) -> np.ndarray:
    """[e, e]: which copies see which, by the table above. block [e]: of each copy's slot, or all the same."""
    kind, column = own.kinds[:, None], own.kinds[None, :]
    apart = (own.judged[:, None] != own.slots[None, :]) & (own.slots[:, None] != own.slots[None, :])
    links = (column == CANDIDATE) & apart & ((kind != CANDIDATE) | clique)
    links |= (kind == QUERY) & (column == MASK) & (own.judged[:, None] == own.judged[None, :])
    return (links | np.eye(len(own.kinds), dtype=bool)) & (block[:, None] >= block[None, :])


def witnessed(own: Layout, links: np.ndarray) -> set[int]:
    """Slots whose judge sees a candidate: else it only repeats what the original says."""
    return {slot for slot, row in own.answers.items() if (links[row] & (own.kinds == CANDIDATE)).any()}


def stack(layouts: list[Layout], links: list[np.ndarray], length: int, mask_id: int) -> Copies:
    """The copies of all rows, padded to the longest with masks that nobody sees."""
    rows, most = len(layouts), max(len(each.kinds) for each in layouts)
    tokens, slots = np.full((rows, most), mask_id), np.zeros((rows, most), dtype=np.int64)
    judged, kinds, hidden = np.zeros_like(slots), np.full_like(slots, PADDING), np.zeros((rows, length), dtype=bool)
    linking = np.repeat(np.eye(most, dtype=bool)[None], rows, axis=0)
    for row, (each, seen) in enumerate(zip(layouts, links)):
        count = len(each.kinds)
        for target, own in ((kinds, each.kinds), (tokens, each.tokens), (slots, each.slots), (judged, each.judged)):
            target[row, :count] = own
        hidden[row, each.slots[each.kinds == CANDIDATE]] = True
        linking[row, :count, :count] = seen
    return Copies(kinds, tokens, slots, judged, hidden, linking)
