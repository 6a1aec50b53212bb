"""Small traces written by hand and real ones from a conformance checkpoint."""

from __future__ import annotations

import torch

from lopa_core.decode.settings import DecodeSettings
from lopa_core.runtime.local import LocalEngine
from lopa_core.trace.recorder import Recorder
from lopa_core.trace.trace import Trace, TraceBranch, TraceRound, TraceSeen, TraceSpan

from .models import conformance_network

PROMPT = [165, 485, 77, 202, 333, 24, 37]
SMALL = DecodeSettings(max_new_tokens=32, block_size=16, lookahead=4, tau_conf=0.5)


def recorded(settings: DecodeSettings = SMALL, *, decoder: str = "lopa", steps: int = 1000) -> Trace:
    """A real decode of dream-a, up to `steps` rounds of it."""
    recorder = Recorder(PROMPT, LocalEngine(conformance_network("dream-a", dtype=torch.float32)), settings)
    for _ in range(steps):
        if recorder.step() is None:
            break
    return recorder.trace(model="dream-a", decoder=decoder, prompt="", tokenizer=None, hardware="test")


def written(tokens: tuple[int, ...], *, end_ids: tuple[int, ...] = (9,), stop_at_eos: bool = True) -> Trace:
    """Two rounds by hand: an anchor that fills slots 0 and 1, then a lookahead at slot 2 that wins and fills slot 3."""
    anchor = TraceBranch(-0.5, 4, TraceSeen((0, 1, 2, 3), (5, 6, 7, 8), (0.99, 0.95, 0.6, 0.2)))
    first = TraceRound((anchor,), 0, (0, 1), -3, 4, 0.5, 0.4, (TraceSpan(0, (0,), 0.05, 0.45),))
    tried = TraceBranch(-0.1, 1, TraceSeen((3,), (8,), (0.97,)), slot=2, token=7, probability=0.6)
    left = TraceBranch(-0.4, 2, TraceSeen((2, 3), (7, 8), (0.62, 0.5)))
    second = TraceRound((tried, left), 0, (0,), 0, 4, 1.0, 0.3, (TraceSpan(0, (0, 1), 0.55, 0.9),))
    return Trace(
        model="hand", decoder="lopa", settings={"stop_at_eos": stop_at_eos, "block_size": 4, "max_new_tokens": 4},
        prompt="?", prompt_tokens=3, end_ids=end_ids, mask_id=11,
        rounds=(first, second), tokens=tokens, reason="complete", text="", hardware="none", recorded="2026-01-01T00:00:00+00:00",
        devices=("none",), pieces={5: "a", 6: "b"},
    )  # fmt: skip
