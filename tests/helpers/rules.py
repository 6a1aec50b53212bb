"""Small canvases and observations for rules to be tried on."""

from __future__ import annotations

import numpy as np

from lopa_core.decode.canvas import Canvas
from lopa_core.decode.observation import Observation
from lopa_core.decode.rules.registry import SELECTIONS
from lopa_core.decode.settings import DecodeSettings


def one_block(size: int = 8, *, active: bool = True, prompt: int = 2) -> tuple[Canvas, np.ndarray]:
    """A canvas whose single block is open, behind a cached prompt, and its slots."""
    canvas = Canvas.start(np.ones(prompt, dtype=np.int64), DecodeSettings(max_new_tokens=size, block_size=size), mask_id=0)
    canvas.committed, canvas.opened, canvas.fully_active[0] = prompt, 1, active
    return canvas, np.arange(prompt, prompt + size)


def said(probabilities, confidences=None, **more) -> Observation:
    """An observation; confidences are the probabilities if they are not given."""
    count = len(probabilities)
    columns = {name: np.array(values) for name, values in more.items()}
    return Observation(np.arange(count) + 10, np.array(probabilities, "f4"), np.array(confidences or probabilities, "f4"), **columns)


def picked(name: str, seen: Observation, *, active: bool = True, **settings) -> list[int]:
    """What a selection rule picks in one block."""
    canvas, slots = one_block(len(seen.tokens), active=active)
    size = {"max_new_tokens": len(slots), "block_size": len(slots)}
    return SELECTIONS[name].pick(canvas, slots, seen, DecodeSettings(**size | settings)).tolist()
