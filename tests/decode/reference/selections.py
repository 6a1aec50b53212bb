"""Which masks a round fills: each rule from its formula, over {slot: Said} of the masks that may be filled."""

from __future__ import annotations

import torch

from .forward import rounds_before


def fill(case, branch, seen, past):
    """Slots to fill: all where the terminator finds the masks settled, else what the selection says and, so that decoding moves,
    the most confident mask of every fully active block without any."""
    if not seen or (case.settings.terminator == "prophet" and settled(case, branch, seen)):
        return sorted(seen)
    blocks = sorted({case.block(slot) for slot in seen})
    inside = {block: {slot: each for slot, each in seen.items() if case.block(slot) == block} for block in blocks}
    if case.settings.selection == "one":
        return [most_confident(inside[blocks[0]])]
    chosen = SELECTIONS[case.settings.selection](case, branch, seen, inside, past)
    for block, masks in inside.items():
        if block in branch.fully_active and not chosen & masks.keys():
            chosen.add(most_confident(masks))
    return sorted(chosen)


def most_confident(masks):
    return max(masks, key=lambda slot: (masks[slot].confidence, -slot))


def surest(masks):
    """Slots from the most probable down."""
    return sorted(masks, key=lambda slot: (-masks[slot].probability, slot))


def settled(case, branch, seen):
    """Prophet: the mean gap of the two highest logits reaches what this third of the text asks."""
    answer, settings = branch.tokens[case.prompt :], case.settings
    done = 1 - answer.count(case.mask) / len(answer)
    asked = settings.prophet_early if done < 0.33 else settings.prophet_middle if done < 0.67 else settings.prophet_late
    return sum(each.gap for each in seen.values()) / len(seen) >= asked


def above(seen, threshold):
    return {slot for slot, each in seen.items() if each.probability > threshold}


def threshold(case, branch, seen, inside, past):
    return above(seen, case.settings.tau_conf)


def factor(case, branch, seen, inside, past):
    """The n surest of a block, n the largest with (k + 1)(1 - p_k) < factor for all k up to n."""
    chosen = set()
    for masks in inside.values():
        for count, slot in enumerate(surest(masks), start=1):
            if (count + 1) * (1 - masks[slot].probability) >= case.settings.factor:
                break
            chosen.add(slot)
    return chosen


def entropy_bound(case, branch, seen, inside, past):
    """The longest run of the most confident of a block with sum H - max H within the bound; where blocks may wait, sum H."""
    chosen = set()
    for block, masks in inside.items():
        run = []
        for slot in sorted(masks, key=lambda slot: (-masks[slot].confidence, slot)):
            run.append(masks[slot].entropy)
            if sum(run) - (max(run) if block in branch.fully_active else 0.0) > case.settings.entropy_bound:
                break
            chosen.add(slot)
    return chosen


def local_leap(case, branch, seen, inside, past):
    anchors, settings = above(seen, case.settings.tau_conf), case.settings
    near = {slot for slot in above(seen, settings.local_tau) if any(abs(slot - anchor) <= settings.local_radius for anchor in anchors)}
    return anchors | near


def klass(case, branch, seen, inside, past):
    """Sure, and moved by less than klass_kl nats in each of the last klass_steps rounds."""
    chosen = set()
    for slot in above(seen, case.settings.klass_tau):
        steady, now = 0, seen[slot].p
        for before in rounds_before(past, slot, lambda each: each.p):
            if float((torch.xlogy(now, now) - torch.xlogy(now, before)).sum()) >= case.settings.klass_kl:
                break
            steady, now = steady + 1, before
        if steady >= case.settings.klass_steps:
            chosen.add(slot)
    return chosen


def leap(case, branch, seen, inside, past):
    """Sure; or likely, and the future says the same."""
    agreed = {slot for slot, each in seen.items() if each.future and each.future[0] == each.token}
    return above(seen, case.settings.tau_conf) | {slot for slot in agreed if seen[slot].probability >= case.settings.leap_tau}


def wino(case, branch, seen, inside, past):
    """The surest of a block above wino_tau, up to 70 % of its masks, which is taken as 5 to 20."""
    chosen = set()
    for masks in inside.values():
        most = min(max(int(0.7 * len(masks)), 5), 20)
        chosen |= above({slot: masks[slot] for slot in surest(masks)[:most]}, case.settings.wino_tau)
    return chosen


def saber(case, branch, seen, inside, past):
    """Surer than all tokens were on average when they were filled; saber_least at least."""
    bar = sum(past.probabilities) / len(past.probabilities) if past.probabilities else 1.0
    return above(seen, bar) | set(surest(seen)[: case.settings.saber_least])


SELECTIONS = {rule.__name__: rule for rule in (threshold, factor, entropy_bound, local_leap, klass, leap, wino, saber)}
