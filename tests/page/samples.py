"""What the page's tests share: a pair of traces of a conformance checkpoint, and a page model without a tokenizer."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import torch

from lopa_core.decode.settings import DecodeSettings
from lopa_core.page.widgets import NAMES
from lopa_core.runtime.session import Model
from lopa_core.trace.trace import Trace
from tests.helpers.models import MODELS, conformance_network
from tests.helpers.traces import PROMPT, recorded

SMALL = DecodeSettings(max_new_tokens=32, block_size=16, lookahead=4, tau_conf=0.9)  # LoPA needs half the rounds here
PROMPT_TEXT = " ".join(map(str, PROMPT))
VALUES = {name: getattr(SMALL, name) for name in NAMES}


@cache
def pair(steps: int = 1000) -> tuple[Trace, Trace]:
    """Baseline and LoPA on one prompt, up to `steps` rounds each; every token has a piece."""
    traces = recorded(SMALL.decoder("confidence"), decoder="confidence", steps=steps), recorded(SMALL, decoder="lopa", steps=steps)
    return tuple(replace(trace, pieces={token: f" t{token}" for token in range(512)}) for trace in traces)


def page_model() -> Model:
    return Model("dream-a", conformance_network("dream-a", dtype=torch.float32), None, "a test machine", MODELS / "dream-a")
