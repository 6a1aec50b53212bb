"""The loop: schedule, forward, score, fill, take back, spawn. Each step is over plain lists and dicts, a branch at a time."""

from __future__ import annotations

from dataclasses import replace

import torch

from .branchings import anchor_of, full_blocks, futures, scores, taken_back, useful
from .case import Branch, Case, Past
from .forward import hear
from .selections import fill


@torch.inference_mode()
def decode_slowly(network, prompt, settings):
    """(answer, rounds, reason): a round is a dict of what the fast loop's Round says, slots counted from the end of the prompt."""
    case, past, rounds = Case(network, len(prompt), settings), Past(), []
    branches = [Branch([*prompt, *[network.config.mask_id] * settings.slots])]
    while len(rounds) < settings.round_limit:
        branches = [scheduled(case, branch) for branch in branches]
        last = branches[-1]
        if last.closed == last.opened and (last.text_end(case) is not None or last.opened * case.size == settings.slots):
            return answer(case, last), rounds, "complete"
        heard = hear(case, branches, past)
        points = scores(case, branches, heard, past)
        won = points.index(max(points))
        branch, seen = branches[won], heard[won].masks
        may = useful(case, branch, seen)
        remember(case, branch, heard[won], past)
        filled = fill(case, branch, may, past)
        branch = write(branch, {slot: seen[slot].token for slot in filled})
        past.probabilities += [seen[slot].probability for slot in filled]
        past.claims |= {slot: seen[slot].probability for slot in filled}
        taken = taken_back(case, branch, heard[won].claims, len(filled), past) if settings.remask != "none" else []
        branch = write(branch, dict.fromkeys(taken, case.mask))
        past.said.append(seen)
        rounds.append(event(case, branches, heard, points, filled, taken))
        end = branch.text_end(case)
        if settings.stop_at_eos and end is not None and case.mask not in branch.tokens[case.prompt : end]:
            return answer(case, branch), rounds, "eos"
        branches = futures(case, branch, {slot: each for slot, each in may.items() if slot not in filled})
        branches = [replace(each, closed=full_blocks(case, anchor_of(branch))) for each in branches]
    return answer(case, branches[-1]), rounds, "round limit"


def scheduled(case, branch):
    """Open one block if the last one is filled enough; who follows a block that is filled enough is fully active (D2F)."""
    settings, shares = case.settings, []
    for block in range(branch.opened):
        inside = branch.tokens[case.prompt + block * case.size : case.prompt + (block + 1) * case.size]
        shares.append(1 - inside.count(case.mask) / case.size)
    more = branch.opened * case.size < settings.slots and branch.text_end(case) is None
    opened = branch.opened + (more and (not shares or shares[-1] >= settings.tau_add))
    follows = {block + 1 for block, share in enumerate(shares) if share >= settings.tau_act}
    return replace(branch, opened=opened, fully_active=branch.fully_active | follows)


def write(branch, tokens):
    """The branch with {slot: token} in it."""
    return replace(branch, tokens=[tokens.get(slot, token) for slot, token in enumerate(branch.tokens)])


def remember(case, branch, heard, past):
    """The winner's window, how far the cache reaches behind it, and the prediction of the slot right behind that."""
    past.windows.append(heard.window)
    full = case.prompt + branch.closed * case.size
    if full > past.committed:
        past.committed, past.boundary = full, None
    if past.boundary is None:
        past.boundary = heard.masks.get(past.committed)


def event(case, branches, heard, points, filled, taken):
    tried = [[(slot - case.prompt, token) for slot, token, *_ in branch.tried] for branch in branches]
    return {
        "scores": points, "winner": points.index(max(points)), "tried": tried, "masks_left": [len(each.masks) for each in heard],
        "filled": [slot - case.prompt for slot in filled], "taken": [slot - case.prompt for slot in taken],
        "copies": sum(each.copies for each in heard),
    }  # fmt: skip


def answer(case, branch):
    return branch.tokens[case.prompt : branch.end(case)]
