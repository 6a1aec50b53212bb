"""The branches of a round as one row without what they share: exact under block-causal attention, and cheaper.

A lookahead branch differs from the anchor from the block of its tried token on. No block before sees that token, so
there both compute the same: the branch's columns begin at that block, behind the anchor's whole window and the columns
of other branches, at their own positions, and see the anchor's columns of the blocks before.

    anchor     block 1 | block 2 | block 3
    branch A                     | block 3'      tried a token in block 3
    branch B           | block 2'| block 3''     tried a token in block 2

becomes one row of six blocks instead of three rows of three. Nothing is padded, and one row of a cache holds it all.
Behind the last block that a branch is asked about it has no columns. With reach "masks" it has of its block only those
that predict a mask, and the tried token; it reads the others as the anchor has them, which is no longer exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..decode.rules.registry import columns as extra_columns
from ..decode.rules.registry import superposes
from ..decode.settings import DecodeSettings
from ..decode.window import PER_QUERY, Window, ask


@dataclass(frozen=True, slots=True)
class Packed:
    """window: of one row of T columns. slots [1, T]: where they stand. mask [1, 1, T, start + T]: True = may be seen.
    back [n]: which of this window's queries answers each of the original one's."""

    window: Window
    slots: np.ndarray
    mask: np.ndarray
    back: np.ndarray


def packs(settings: DecodeSettings) -> bool:
    """Whether rounds of these settings are packed: blocks see none behind them, and more than one is open at a time, else
    branches share nothing; or branches have to read the anchor's columns."""
    if settings.reach == "masks":
        return True
    whole_rows = superposes(settings) or "divergences" in extra_columns(settings)  # count on a row per branch
    return settings.attention == "block_causal" and settings.tau_add < 1 and not whole_rows


def room(rows: int, length: int, settings: DecodeSettings) -> int:
    """Slots that one row needs where `rows` branches of `length` slots are packed."""
    return length + (rows - 1) * settings.slots


def pack(window: Window) -> Packed:
    """The last branch, which is the anchor if there is one, as it is; of the others what it does not have."""
    begin, widths, base = parting(window), window.ends - window.start, len(window.tokens) - 1
    row, asked = window.queries // window.columns.shape[1], window.columns.flat[window.queries]
    column = np.arange(window.tokens.shape[1])
    mine = (column >= begin[:, None]) & (column < np.minimum(widths, needed(window, row, asked))[:, None])
    if window.thin:
        told = np.zeros_like(mine)
        told[row, asked] = True
        mine &= told | (window.tokens != window.tokens[base])
    mine[base] = column < widths[base]
    rows, own = (np.roll(each, widths[base]) for each in np.nonzero(mine))  # the last branch comes first
    at = np.full(mine.shape, -1)  # where a branch's own columns are
    at[rows, own] = np.arange(len(rows))
    places = np.where(at[row, asked] < 0, asked, at[row, asked])
    places, first, back = np.unique(places, return_index=True, return_inverse=True)
    columns, queries = ask(np.zeros_like(places), places, 1)
    kept = {name: getattr(window, name)[first] for name in PER_QUERY if getattr(window, name) is not None}
    one = replace(
        window, tokens=window.tokens[rows, own][None], ends=np.array([window.start + len(rows)]), columns=columns,
        queries=queries, **kept,
    )  # fmt: skip
    return Packed(one, window.start + own[None], visible(window, rows, own, at), back)


def parting(window: Window) -> np.ndarray:
    """[B] the column from which each branch is not the last one any more: where a block begins, at most where one of them ends."""
    differs = window.tokens != window.tokens[-1]
    first = np.where(differs.any(axis=1), differs.argmax(axis=1), window.tokens.shape[1])
    slots = window.start + np.minimum(first, np.minimum(window.ends, window.ends[-1]) - window.start)
    return np.maximum(slots - (slots - window.prompt) % window.block_size - window.start, 0)


def needed(window: Window, row: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """[B] the column behind the last block that a branch is asked about: no block before sees what follows."""
    last = np.full(len(window.tokens), -1)
    np.maximum.at(last, row, asked)
    slots = window.start + last
    return np.where(last < 0, 0, slots + window.block_size - (slots - window.prompt) % window.block_size - window.start)


def visible(window: Window, rows: np.ndarray, own: np.ndarray, at: np.ndarray) -> np.ndarray:
    """[1, 1, T, start + T]: of the packed columns, which are columns `own` [T] of branches `rows` [T]. A branch sees its own
    ones, and the last branch's where it has none; at [B, W]: where its own are, -1 where it has none."""
    block = np.maximum((window.start + own - window.prompt) // window.block_size, -1)
    shared = (rows == len(at) - 1) & (at[rows][:, own] < 0)
    seen = (block[:, None] >= block) & (shared | (rows[:, None] == rows))
    return np.concatenate((np.ones((len(rows), window.start), dtype=bool), seen), axis=1)[None, None]
