"""Which futures are tried and which one wins, and what is taken back."""

from __future__ import annotations

import math
from dataclasses import replace

from .selections import fill

NOISE = 1e-4  # a fall of a probability that is rounding


def futures(case, branch, left):
    """The branches of the next round. left: {slot: Said} of the masks that may be filled and were not."""
    return BRANCHINGS[case.settings.branching][0](case, branch, left)


def scores(case, branches, heard, past):
    return BRANCHINGS[case.settings.branching][1](case, branches, heard, past)


def trial(slot, each):
    return slot, each.token, each.probability, each.confidence


def future(branch, tried):
    """The branch with tokens more."""
    tokens = [*branch.tokens]
    for slot, token, *_ in tried:
        tokens[slot] = token
    return replace(branch, tokens=tokens, tried=tuple(tried))


def anchor_of(branch):
    return future(branch, ())


def look_ahead(case, branch, left):
    """LoPA: one future per most confident mask left, then the anchor."""
    ranked = sorted(left, key=lambda slot: (-left[slot].confidence, slot))
    ranked = [slot for slot in ranked if left[slot].probability >= case.settings.confidence_floor]
    tried = [future(branch, [trial(slot, left[slot])]) for slot in ranked[: case.settings.lookahead]]
    twice = case.settings.duplicate_anchor and case.settings.lookahead and not left
    return [*tried, *([anchor_of(branch)] if twice else []), anchor_of(branch)]


def look_ahead_adaptively(case, branch, left):
    """Of LoPA's futures those that pay: confirmed ones beside LEAP, none much worse than the best, no anchor beside a sure one."""
    settings = case.settings
    if settings.selection == "leap":
        left = {slot: each for slot, each in left.items() if each.future and each.future[0] == each.token}
    *tried, anchor = look_ahead(case, branch, left)
    best = max((each.tried[0][2] for each in tried), default=0.0)
    tried = [each for each in tried if each.tried[0][2] >= best - settings.adaptive_gap]
    return tried if tried and settings.reach == "window" and best >= settings.adaptive_sure else [*tried, anchor]


def branch_confidence(case, branches, heard, past):
    """Eq. 2 of LoPA with its knobs; a future whose token the anchor does not confirm cannot win."""
    settings, own = case.settings, [confidence(each, branch, case.settings) for each, branch in zip(heard, branches)]
    if settings.anchor_floor == 0 or branches[-1].tried:
        return own
    return [each if stands(branch, heard[-1], settings) else min(each, own[-1]) - 1 for each, branch in zip(own, branches)]


def confidence(heard, branch, settings):
    values = [heard.masks[slot].confidence for slot in sorted(heard.masks)]
    if 0 < settings.score_window < len(values):
        stretches = [values[index : index + settings.score_window] for index in range(len(values) - settings.score_window + 1)]
        values = min(stretches, key=sum)
    if settings.score_tail_fraction < 1:
        values = sorted(values)[: max(1, int(len(values) * settings.score_tail_fraction))]
    mean, weight = sum(values) / len(values) if values else 1.0, settings.score_creation_weight
    return weight * (branch.tried[0][3] if branch.tried else 1.0) + (1 - weight) * mean


def stands(branch, anchor, settings):
    if not branch.tried:
        return True
    slot, token, *_ = branch.tried[0]
    return slot in anchor.masks and anchor.masks[slot].token == token and anchor.masks[slot].probability >= settings.anchor_floor


def draft(case, branch, left):
    """FreeDave: 1, 2, .. of the most confident masks of the first block, which keeps one mask; none where the cache grows
    under full attention."""
    if not left or (case.settings.attention == "full" and full_blocks(case, branch) > branch.closed):
        return [anchor_of(branch)]
    first = min(case.block(slot) for slot in left)
    block = [slot for slot in left if case.block(slot) == first]
    ranked = sorted(block, key=lambda slot: (-left[slot].confidence, slot))[:-1][: case.settings.lookahead]
    tried = [trial(slot, left[slot]) for slot in ranked]
    return [*(future(branch, tried[:count]) for count in range(1, len(tried) + 1)), anchor_of(branch)]


def full_blocks(case, branch):
    """Leading blocks without a mask."""
    first = next(iter(branch.masks(case)), branch.end(case))
    return case.block(first)


def steps_ahead(case, branches, heard, past):
    """A draft stands if the one before it stands and would itself write the draft's last token."""
    result, before = [-1.0] * (len(branches) - 1) + [0.0], len(branches) - 1
    for index, branch in enumerate(branches[:-1]):
        slot, token, *_ = branch.tried[-1]
        may = useful(case, branches[before], heard[before].masks)
        if slot not in fill(case, branches[before], may, past) or may[slot].token != token:
            break
        result[index], before = index + 1.0, index
    return result


def useful(case, branch, masks):
    """The masks that may be filled: where decoding stops at the end of the text, those before it."""
    end = branch.text_end(case)
    return {slot: each for slot, each in masks.items() if not (case.settings.stop_at_eos and end is not None) or slot < end}


def pivot(case, branch, left):
    """Every likely token of the mask that is the most undecided between its likely tokens."""
    settings, spreads = case.settings, {}
    for slot, each in left.items():
        likely = [share for _, share in each.best if share >= settings.pivot_ratio * each.probability]
        parts = [share / sum(likely) for share in likely]
        spreads[slot] = -sum(part * math.log(part) for part in parts) if sum(likely) >= settings.pivot_mass else -1.0
    torn = max(spreads, key=lambda slot: (spreads[slot], -slot), default=None)
    if torn is None or spreads[torn] <= 0 or not settings.lookahead:
        return [anchor_of(branch)]
    each = left[torn]
    likely = [(token, share) for token, share in each.best[: settings.lookahead] if share >= settings.pivot_ratio * each.probability]
    return [*(future(branch, [(torn, token, share, each.confidence)]) for token, share in likely), anchor_of(branch)]


def calm_elsewhere(case, branches, heard, past):
    """pivot_weight x p - mean entropy of the masks other than the pivot."""
    torn, result = branches[0].tried[0][0] if branches[0].tried else -1, []
    for branch, each in zip(branches, heard):
        others = [said.entropy for slot, said in each.masks.items() if slot != torn]
        plausible = branch.tried[0][2] if branch.tried else 0.0
        result.append(case.settings.pivot_weight * plausible - (sum(others) / len(others) if others else 0.0))
    return result


BRANCHINGS = {
    "lookahead": (look_ahead, branch_confidence), "adaptive": (look_ahead_adaptively, branch_confidence),
    "draft": (draft, steps_ahead), "pivot": (pivot, calm_elsewhere),
}  # fmt: skip


def taken_back(case, branch, claims, filled, past):
    """Written slots that become masks again. claims: {slot: Said} of those that are doubted; filled: how many were just filled."""
    settings = case.settings
    now = {slot: float(each.p[branch.tokens[slot]]) for slot, each in claims.items()}
    if case.settings.remask == "wino":  # not probable enough in its own absence; fewer than were filled
        worst, surplus = sorted(now, key=lambda slot: (now[slot], slot)), decided(case, branch) - len(past.said) - 1
        doubtful = {slot for slot in worst[: max(filled - 1, 0)] if now[slot] < settings.wino_keep}
        refuted = {slot for slot in worst[: max(surplus, 0)] if now[slot] < min(settings.wino_refuted, settings.wino_keep)}
        return sorted(doubtful | refuted)
    falls = {slot: past.claims.get(slot, claim) - claim for slot, claim in now.items()}
    past.claims |= now
    count = min(max(settings.saber_least // 2, math.ceil(filled / 8)), filled - 1)
    worst = sorted(falls, key=lambda slot: (-falls[slot], slot))[: max(count, 0)]
    return sorted(slot for slot in worst if falls[slot] > NOISE)


def decided(case, branch):
    """Slots behind the prompt that are no mask."""
    return sum(token != case.mask for token in branch.tokens[case.prompt :])
