"""Which masks of a canvas are written, by the selection rule and the terminator."""

from __future__ import annotations

import numpy as np

from .canvas import Canvas
from .observation import Observation
from .rules.registry import NONE, SELECTIONS, TERMINATORS
from .settings import DecodeSettings


def useful(canvas: Canvas, slots: np.ndarray, settings: DecodeSettings) -> np.ndarray:
    """Which of the masked `slots` may be written [n] bool: those before an end of the text at which decoding stops."""
    if not (settings.stop_at_eos and canvas.ended):
        return np.ones(len(slots), dtype=bool)
    return slots < canvas.first_end()


def pick(canvas: Canvas, slots: np.ndarray, seen: Observation, settings: DecodeSettings) -> np.ndarray:
    """Indices into the masked `slots` of what is to be written: all useful ones if the terminator finds them settled,
    else what the selection rule says."""
    own = np.flatnonzero(useful(canvas, slots, settings))
    if not len(own):
        return own
    masks = canvas, slots[own], seen.part(own), settings
    if settings.terminator != NONE and TERMINATORS[settings.terminator].settled(*masks):
        return own
    return own[SELECTIONS[settings.selection].pick(*masks)]
