"""The slow obvious loop: LoPA over D2F blocks with block-causal attention, everything computed anew in every round.

No cache, no batch, no canvas: a branch is a list of tokens, a forward is one network call on prompt and opened blocks.
Under block-causal attention that is exactly what the fast loop must give, since a full block never changes.
Slots are counted from the end of the prompt.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from lopa_core.decode.settings import DecodeSettings


@dataclass
class Future:
    answer: list[int]  # all slots; the mask id where nothing is decided
    opened: int = 0  # blocks
    fully_active: frozenset[int] = frozenset({0})
    ended: bool = False
    tried: tuple | None = None  # (slot, token, probability, confidence)

    def write(self, slot, token, ends):
        self.answer[slot] = token
        self.ended = self.ended or token in ends

    def end(self, ends):
        """The first slot that ends the text."""
        return min(self.answer.index(token) for token in ends if token in self.answer)


def decode_slowly(network, prompt, settings: DecodeSettings):
    """(answer, rounds): a round is a dict of what the fast loop's Round says."""
    mask_id, size = network.config.mask_id, settings.block_size
    ends = {settings.eos_token_id} if settings.eos_token_id is not None else set(network.config.end_ids)
    branches, rounds = [Future([mask_id] * settings.slots)], []
    while len(rounds) < settings.round_limit:
        for branch in branches:
            schedule(branch, settings, mask_id)
        anchor = branches[-1]
        if not masks(anchor, size, mask_id) and (anchor.ended or anchor.opened * size == settings.slots):
            break
        told = [predict(network, prompt, branch, settings) for branch in branches]
        if settings.reach == "block":
            told = [reached(each, branch.tried, told[-1], settings) for each, branch in zip(told, branches)]
        scores = [score(each, branch.tried, settings) for each, branch in zip(told, branches)]
        scores = [own if stands(branch.tried, told[-1], settings) else min(own, scores[-1]) - 1 for own, branch in zip(scores, branches)]
        won = scores.index(max(scores))
        future, seen = branches[won], told[won]
        if settings.stop_at_eos and future.ended:
            seen = {slot: each for slot, each in seen.items() if slot < future.end(ends)}
        filled = choose(future, seen, settings)
        for slot in filled:
            future.write(slot, seen[slot][0], ends)
        tried, left = [branch.tried for branch in branches], [len(each) for each in told]
        rounds.append({"scores": scores, "winner": won, "tried": tried, "masks_left": left, "filled": filled})
        if settings.stop_at_eos and future.ended and mask_id not in future.answer[: future.end(ends)]:
            return future.answer[: future.opened * size], rounds
        branches = look_ahead(future, {slot: each for slot, each in seen.items() if slot not in filled}, settings, ends)
    return branches[-1].answer[: branches[-1].opened * size], rounds


def masks(branch, size, mask_id):
    return [slot for slot in range(branch.opened * size) if branch.answer[slot] == mask_id]


def schedule(branch, settings, mask_id):
    """Open one block if the last one is filled enough; whoever follows a block that is filled enough is fully active."""
    size, share = settings.block_size, []
    for block in range(branch.opened):
        inside = branch.answer[block * size : (block + 1) * size]
        share.append(sum(token != mask_id for token in inside) / size)
    if branch.opened * size < settings.slots and not branch.ended and (not share or share[-1] >= settings.tau_add):
        branch.opened += 1
    branch.fully_active |= {block + 1 for block, filled in enumerate(share) if filled >= settings.tau_act}


def predict(network, prompt, branch, settings):
    """{masked slot: (token, probability, confidence)} from one forward over everything."""
    config, size = network.config, settings.block_size
    tokens = [*prompt, *branch.answer[: branch.opened * size]]
    block = [-1] * len(prompt) + [slot // size for slot in range(branch.opened * size)]
    visible = torch.tensor([[block[key] <= block[query] for key in range(len(tokens))] for query in range(len(tokens))])
    logits = network.head(network(torch.tensor([tokens]), mask=visible[None, None]))[0].double()
    if not settings.allow_mask_token:
        logits[:, config.mask_id] = float("-inf")
    probabilities = logits.softmax(-1)
    rows = {slot: probabilities[len(prompt) + slot - config.shifted] for slot in masks(branch, size, config.mask_id)}
    return {slot: (int(p.argmax()), float(p.max()), confidence(p, settings.confidence)) for slot, p in rows.items()}


def confidence(p, kind):
    if kind == "margin":
        first, second = p.sort(descending=True).values[:2].tolist()
        return first - second
    return float(p.max() if kind == "probability" else torch.xlogy(p, p).sum())


def score(told, tried, settings):
    """Mean confidence of the least confident share of the masks, mixed with the tried token's own."""
    lowest = sorted(each[2] for each in told.values())
    lowest = lowest[: max(1, int(len(lowest) * settings.score_tail_fraction))]
    mean = sum(lowest) / len(lowest) if lowest else 1.0
    weight = settings.score_creation_weight
    return weight * (tried[3] if tried else 1.0) + (1 - weight) * mean


def reached(told, tried, anchor, settings):
    """Of the block of the tried token what the branch says, of other blocks what the anchor says, of no other slots anything."""
    if tried is None:
        return told
    own = tried[0] // settings.block_size
    return {slot: told[slot] if slot // settings.block_size == own else said for slot, said in anchor.items() if slot in told}


def stands(tried, anchor, settings):
    """Whether the anchor still says the tried token, with enough probability."""
    if tried is None or settings.anchor_floor == 0:
        return True
    token, probability, _ = anchor[tried[0]]
    return token == tried[1] and probability >= settings.anchor_floor


def choose(future, seen, settings):
    """Slots to fill: above the threshold; in a fully active block without any its most confident one."""
    blocks = sorted({slot // settings.block_size for slot in seen})
    filled = []
    for block in blocks[:1] if settings.selection == "one" else blocks:
        inside = [slot for slot in seen if slot // settings.block_size == block]
        sure = [slot for slot in inside if seen[slot][1] > settings.tau_conf]
        if settings.selection == "one" or (not sure and block in future.fully_active):
            sure = [max(inside, key=lambda slot: (seen[slot][2], -slot))]
        filled += sure
    return filled


def look_ahead(future, left, settings, ends):
    """One future per most confident mask left, then the anchor."""
    ranked = sorted(left, key=lambda slot: (-left[slot][2], slot))
    ranked = [slot for slot in ranked if left[slot][1] >= settings.confidence_floor]
    futures = []
    for slot in ranked[: settings.lookahead]:
        futures.append(replace(future, answer=[*future.answer], tried=(slot, *left[slot])))
        futures[-1].write(slot, left[slot][0], ends)
    if settings.duplicate_anchor and settings.lookahead and not left:
        futures.append(replace(future, answer=[*future.answer], tried=None))
    return [*futures, replace(future, tried=None)]
