"""What the page's tests share: a pair of traces of a conformance checkpoint, and a page model without a tokenizer."""

from __future__ import annotations

import torch

from lopa_core.model.source import read_source
from lopa_core.page.widgets import NAMES
from lopa_core.runtime.session import LocalModel, Model
from tests.helpers.models import MODELS, conformance_network
from tests.helpers.traces import PROMPT
from tests.view.samples import SMALL, pair

__all__ = ["PROMPT_TEXT", "SMALL", "VALUES", "page_model", "pair"]
PROMPT_TEXT = " ".join(map(str, PROMPT))
VALUES = {name: getattr(SMALL, name) for name in NAMES}


def page_model() -> Model:
    return LocalModel(read_source(MODELS / "dream-a").fetch(), conformance_network("dream-a", dtype=torch.float32), "a test machine")
