"""What the network says of a branch: one sequence, a mask worked out pair by pair, no batch and nothing shared.

Under block-causal attention the whole text is read from position 0 without a cache: a full block never changes. Under full
attention keys stay as they were when they were read last, so the cache is made anew from all windows that were read before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch

from .case import Said


@dataclass(frozen=True)
class Column:
    """A token that a forward reads. kind: original, own, or a superposed copy (candidate, mask, query); about: the slot it asks of."""

    kind: str
    slot: int
    token: int
    about: int


@dataclass
class Heard:
    """masks: {masked slot: Said} of a branch. claims: {written slot: Said} of those that are doubted. copies: superposed tokens."""

    masks: dict[int, Said]
    claims: dict[int, Said]
    copies: int
    window: tuple[list[int], int, int]


def hear(case, branches, past):
    """One Heard per branch."""
    settings, start = case.settings, first_column(case, branches, past)
    ends = [branch.end(case) for branch in branches]
    heard = []
    for branch in branches:
        asked = min(branch.end(case), ends[-1]) if settings.reach != "window" else branch.end(case)
        end = asked
        if settings.suffix != "none":
            grows = branch.closed * case.size + case.prompt > past.committed
            end = case.length if settings.suffix == "masks" or grows else max(ends)
            end = min(end, case.length if settings.suffix == "masks" or grows else ends[-1]) if settings.reach != "window" else end
        heard.append(hear_one(case, branch, past, start, end, [slot for slot in branch.masks(case) if slot < asked]))
    if settings.reach != "window":
        heard = [borrowed(case, each, branch, branches[-1], heard[-1], past) for each, branch in zip(heard, branches)]
    return heard


def first_column(case, branches, past):
    """Where a forward begins: behind the cache, or one before, where that row's prediction is wanted anew."""
    if case.causal or not (case.shifted and past.committed):
        return 0 if case.causal else past.committed
    masked = any(past.committed in branch.masks(case) for branch in branches)
    follows = case.settings.selection == "klass" or case.settings.credit_alpha > 0
    return past.committed - (case.settings.refresh_boundary or follows or (past.boundary is None and masked))


def hear_one(case, branch, past, start, end, masked):
    """A Heard of one branch over start..end; it is asked about the slots `masked` and about what is to be doubted."""
    settings, written = case.settings, branch.written(case) if case.settings.remask != "none" else []
    copies = superposed(case, branch, masked, written if settings.remask == "wino" else [], past)
    originals = [Column("original", slot, branch.tokens[slot], slot) for slot in range(end)]
    logits = run(case, originals, copies, start, past)
    masks = {}
    for slot in masked:
        row = slot - case.shifted
        masks[slot] = said(case, logits[row], slot, past) if row in logits else past.boundary
    judges = {copy.about: said(case, logits[copy], copy.about, past) for copy in judging(case, copies)}
    for slot in judges.keys() & masks.keys():
        masks[slot] = replace(masks[slot], future=(judges[slot].token, judges[slot].probability))
    doubted = judges if settings.remask == "wino" else {}
    if settings.remask == "saber":
        doubted = {slot: said(case, logits[slot - case.shifted], slot, past) for slot in written if slot - case.shifted in logits}
    claims = {slot: doubted[slot] for slot in written if slot in doubted}
    return Heard(masks, claims, len(copies), (branch.tokens, start, end))


def run(case, originals, copies, start, past):
    """{slot of an original, or a copy: logits} of what is read from `start` on."""
    reading, columns = originals[start:] + copies, originals + copies
    hidden = {copy.slot for copy in copies if copy.kind == "candidate"}
    where = {"positions": torch.tensor([[column.slot for column in reading]])} if copies else {}
    if not case.causal:
        where |= {"start": start, "cache": cached(case, past)}
        if case.settings.suffix == "cached":  # what lies behind the window is seen as it is in the cache
            columns = originals + [Column("original", slot, case.mask, slot) for slot in range(len(originals), case.length)]
    visible = torch.tensor([[sees(case, query, key, hidden) for key in columns] for query in reading])
    tokens = torch.tensor([[column.token for column in reading]])
    rows = case.network.head(case.network(tokens, mask=visible[None, None], **where))[0].double()
    return {column if column.kind != "original" else column.slot: row for column, row in zip(reading, rows)}


def cached(case, past):
    """Keys and values as the windows read so far have left them."""
    cache = case.network.new_cache(1, 4 * case.length)
    cache.kept = case.length if case.settings.suffix == "cached" else 0
    for tokens, start, end in past.windows:
        case.network(torch.tensor([tokens[start:end]]), start=start, cache=cache)
    return cache


def sees(case, query, key, hidden):
    """The table of decode/superposed.py, row by row; without copies, blocks alone."""
    if case.causal and case.block(key.slot) > case.block(query.slot):
        return False
    if key.kind == "original":
        return query.kind == "original" or (key.slot not in hidden and key.slot not in (query.slot, query.about))
    if query.kind == "original" or query is key:
        return query is key
    if key.kind == "candidate":
        apart = key.slot not in (query.slot, query.about)
        return apart and (query.kind != "candidate" or case.settings.leap_links == "clique")
    return (query.kind, key.kind) == ("query", "mask") and query.about == key.about


def superposed(case, branch, masked, written, past):
    """The copies of a branch: LEAP's candidates, and judges of them and of `written` slots."""
    candidates = {}
    if case.settings.selection == "leap" and past.said:
        likely = {slot: each for slot, each in past.said[-1].items() if each.probability >= case.settings.leap_eta}
        candidates = {slot: likely[slot].token for slot in masked if slot in likely}
    copies = arranged(case, branch, candidates, sorted([*candidates, *written]))
    witnessed = {judge.about for judge in judging(case, copies) if any(sees_candidate(case, judge, copy) for copy in copies)}
    kept = candidates.keys() & witnessed
    if len(kept) < len(candidates):
        copies = arranged(case, branch, candidates if kept else {}, sorted([*kept, *written]))
    return copies


def sees_candidate(case, judge, copy):
    return copy.kind == "candidate" and sees(case, judge, copy, set())


def arranged(case, branch, candidates, judged):
    copies = [Column("candidate", slot, token, slot) for slot, token in candidates.items()]
    for slot in judged:
        copies.append(Column("mask", slot, case.mask, slot))
        if case.shifted:
            copies.append(Column("query", slot - 1, candidates.get(slot - 1, branch.tokens[slot - 1]), slot))
    return copies


def judging(case, copies):
    """The copies that are asked."""
    return [copy for copy in copies if copy.kind == ("query" if case.shifted else "mask")]


def borrowed(case, heard, branch, anchor, of_anchor, past):
    """Of the block of the tried token what the branch says, of its other masks what the anchor says."""
    if not branch.tried:
        return heard
    block, masks = case.block(branch.tried[0][0]), heard.masks
    inside = [slot for slot in masks if case.block(slot) == block]
    if case.settings.reach == "masks" and branch is not anchor:
        masks = few_columns(case, branch, anchor, block, inside, past)
    return replace(heard, masks={slot: masks[slot] if slot in inside else of_anchor.masks[slot] for slot in heard.masks})


def few_columns(case, branch, anchor, block, inside, past):
    """{slot: Said} where of the block only the columns that predict its masks, and the tried token, are the branch's own."""
    end = anchor.end(case)
    rows = {slot - case.shifted for slot in inside if case.block(slot - case.shifted) == block}
    rows |= {slot for slot in range(end) if branch.tokens[slot] != anchor.tokens[slot]}
    originals = [Column("original", slot, anchor.tokens[slot], slot) for slot in range(end)]
    own = [Column("own", slot, branch.tokens[slot], slot) for slot in sorted(rows)]
    columns = originals + own

    def visible(query, key):
        if case.block(key.slot) > case.block(query.slot):
            return False
        return key.kind == "own" or key.slot not in rows if query.kind == "own" else key.kind == "original"

    mask = torch.tensor([[visible(query, key) for key in columns] for query in columns])
    places = torch.tensor([[column.slot for column in columns]])
    tokens = torch.tensor([[column.token for column in columns]])
    logits = case.network.head(case.network(tokens, mask=mask[None, None], positions=places))[0].double()
    where = {column.slot: index for index, column in enumerate(columns)}  # own ones come last and replace the anchor's
    return {slot: said(case, logits[where[slot - case.shifted]], slot, past) for slot in inside}


def said(case, logits, slot, past):
    """The Said of logits [vocabulary] about `slot`."""
    settings, logits = case.settings, logits.clone()
    if not settings.allow_mask_token:
        logits[case.mask] = float("-inf")
    raw = logits.softmax(-1)
    if settings.credit_alpha:
        for token, credit in earned(case, raw, slot, past).items():
            logits[token] += settings.credit_alpha * math.log1p(credit)
    p = logits.softmax(-1)
    return Said(p, raw, confidence(p, settings.confidence))


def confidence(p, kind):
    if kind == "margin":
        first, second = p.topk(2).values.tolist()
        return first - second
    return float(p.max() if kind == "probability" else torch.xlogy(p, p).sum())


def earned(case, raw, slot, past):
    """{token: credit} of a slot (CreditDecoding): each round's prediction p ** gamma, beta of it left per round, this round's whole."""
    settings, credit, share = case.settings, {}, 1.0
    for probabilities in [raw, *rounds_before(past, slot, lambda each: each.raw)]:
        token = int(probabilities.argmax())
        credit[token] = credit.get(token, 0.0) + share * float(probabilities.max()) ** settings.credit_gamma
        share *= settings.credit_beta
    return credit


def rounds_before(past, slot, of):
    """of(Said) of the rounds before in which `slot` was a mask of the winner, the last one first, up to the first in which it was none."""
    for masks in reversed(past.said):
        if slot not in masks:
            return
        yield of(masks[slot])
