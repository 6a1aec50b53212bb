"""The loop that LoPA is usually written as, to compare the speed of ours with: one forward per branch, one after the other.

In the manner of the official code (arXiv 2512.16229; written from a description of what it does, none of it is here):
every branch gets the whole cache copied, its logits are made for every row of its window, softmax, ranking and entropy
run over all of them, and Python reads them token by token. What is decided is what decode/loop.py decides, by the same
rules, so ids and rounds are the same as with reach window and only the time differs. The official code also collects garbage in every
round with branches, which alone would cost more than all of this on a CPU: it is left out.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..decode.branch import Branch, spawn, winner
from ..decode.canvas import Canvas
from ..decode.fill import pick, useful
from ..decode.loop import check_prompt
from ..decode.observation import Observation
from ..decode.rules.lopa import weigh
from ..decode.settings import DecodeSettings, SettingsError
from ..model.cache import Cache
from ..model.mask import block_causal_mask
from ..model.network import Transformer
from ..runtime.local import Stopwatch


@dataclass(slots=True)
class Plainly:
    """What a decode wrote (all opened slots) and what it took; seconds_in_network are those in the transformer and its head."""

    ids: tuple[int, ...] = ()
    rounds: int = 0
    branch_forwards: int = 0
    seconds: float = 0.0
    seconds_in_network: float = 0.0


@torch.inference_mode()
def decode_plainly(network: Transformer, prompt: Sequence[int], settings: DecodeSettings) -> Plainly:
    """Decode behind `prompt`. Raises SettingsError for settings beyond LoPA over block-causal attention, which this loop does not know."""
    check_plain(settings)
    check_prompt(prompt, network.config, settings)
    told, began = Plainly(), time.perf_counter()
    anchor = Canvas.start(np.asarray(prompt), settings, network.config.mask_id, settings.ends(network.config))
    branches, cache, last = [Branch(anchor)], network.new_cache(1, len(anchor.tokens)), None
    while told.rounds < settings.round_limit:
        for branch in branches:
            branch.canvas.advance(settings.tau_add, settings.tau_act)
        if branches[-1].canvas.complete():
            break
        caches, logits, seen = [], [], []
        for branch in branches:
            caches.append(copied(network, cache, branch.canvas))
            logits.append(forward(network, branch.canvas, caches[-1], last, told))
            seen.append(observed(logits[-1], branch.canvas, settings))
        told.rounds += 1
        won = winner(weigh(branches, *map(list, zip(*seen)), settings, pick))
        canvas, cache, (slots, said) = branches[won].canvas, caches[won], seen[won]
        if canvas.closing > canvas.committed:
            last = logits[won][canvas.closing - canvas.committed][None]
            canvas.committed = canvas.closing
        left, filled = useful(canvas, slots, settings), pick(canvas, slots, said, settings)
        canvas.write(slots[filled], said.tokens[filled])
        branches = [Branch(canvas)]
        if settings.stop_at_eos and canvas.answered():
            break
        canvas.retire()
        left[filled] = False
        branches = spawn(canvas, slots[left], said.part(left), settings)
    canvas = branches[-1].canvas
    told.ids, told.seconds = tuple(canvas.tokens[canvas.prompt : canvas.end].tolist()), time.perf_counter() - began
    return told


def copied(network: Transformer, cache: Cache, canvas: Canvas) -> Cache:
    """A cache of the branch's own, with the common prefix in it."""
    own = network.new_cache(1, len(canvas.tokens))
    own.fill(cache.span(0, 0, canvas.committed), 0, canvas.committed, 1)
    return own


def forward(network: Transformer, canvas: Canvas, cache: Cache, last: Tensor | None, told: Plainly) -> Tensor:
    """Logits [W, vocabulary] about every slot of the branch's window; last [1, vocabulary]: those about its first slot,
    which the row before the window makes where the model is shifted."""
    window = torch.from_numpy(canvas.tokens[canvas.committed : canvas.end])[None]
    mask = block_causal_mask(canvas.committed, canvas.end, canvas.prompt, canvas.block_size, network.device)
    watch = Stopwatch(network.device)
    logits = network.head(network(window.to(network.device), start=canvas.committed, mask=mask, cache=cache))[0]
    watch.mark()
    told.seconds_in_network += watch.stop()[0]
    told.branch_forwards += 1
    if network.config.shifted:
        logits = torch.cat((logits[:1] if last is None else last, logits[:-1]))
    return logits


def observed(logits: Tensor, canvas: Canvas, settings: DecodeSettings) -> tuple[np.ndarray, Observation]:
    """The branch's masked slots and what is said of them: everything is worked out for every row, then read one by one."""
    logits = logits.float()
    if not settings.allow_mask_token:
        logits[:, canvas.mask_id] = float("-inf")
    shares = logits.softmax(dim=-1)
    best, tokens = shares.max(dim=-1)
    if settings.confidence == "neg_entropy":
        confidences = (shares * (shares + 1e-10).log()).sum(dim=-1)
    elif settings.confidence == "margin":
        two = shares.topk(2, dim=-1).values
        confidences = two[:, 0] - two[:, 1]
    else:
        confidences = best
    slots, rows = [], []
    for slot in range(canvas.closing, canvas.end):
        if canvas.tokens[slot] == canvas.mask_id:
            row = slot - canvas.committed
            slots.append(slot)
            rows.append((tokens[row].item(), best[row].item(), confidences[row].item()))
    return np.array(slots, dtype=np.int64), Observation.unpack(np.array(rows, dtype=np.float32).reshape(-1, 3).T)


def check_plain(settings: DecodeSettings) -> None:
    """Raise SettingsError where this loop would decide otherwise than ours."""
    known = {"attention": "block_causal", "branching": "lookahead", "reach": "window", "selection": "threshold"}
    off = {"remask": "none", "terminator": "none", "temperature": 0.0, "credit_alpha": 0.0}
    for name, value in (known | off).items():
        if getattr(settings, name) != value:
            raise SettingsError(f"The plain loop knows {name} {value} only, not {getattr(settings, name)}.")
