"""A small sweep of the embedded model, and the report it leaves."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from lopa_core.bench.sweep import Plan, Sweep
from lopa_core.decode.settings import DecodeSettings
from lopa_core.runtime.session import LocalModel, open_model
from lopa_core.tasks.word_problems import problems

LOOKAHEADS, TAUS = (0, 2), (0.5, 0.9)
TIMES = ("seconds", "tokens_per_second", "recorded")


@cache
def model() -> LocalModel:
    return open_model(device="cpu")


def sweep(count: int = 2, before: Any = None, **changes: Any) -> Sweep:
    """Over k = 0 and 2, and over two thresholds; the text is cut short, so that it is quick."""
    axes = {name: changes.pop(name) for name in ("lookaheads", "taus") if name in changes} or {"lookaheads": LOOKAHEADS, "taus": TAUS}
    about = {name: changes.pop(name) for name in ("task", "seed") if name in changes}
    base = DecodeSettings(**model().source.settings | {"max_new_tokens": 64, "lookahead": 3} | changes)
    held_out = list(problems(count, split="test", seed=about.get("seed", 0)))
    return Sweep(Plan(base=base, **axes), model(), held_out, before=before, **{"task": "word-problems"} | about)


@cache
def report_text() -> str:
    whole = sweep()
    for _ in whole.run():
        pass
    return json.dumps(whole.report())


def report() -> dict[str, Any]:
    """Of the whole sweep, as it is read back from a file."""
    return json.loads(report_text())


def untimed(told: Any) -> Any:
    """Without what another run would measure anew."""
    if isinstance(told, dict):
        return {name: untimed(value) for name, value in told.items() if name not in TIMES}
    return [untimed(each) for each in told] if isinstance(told, (list, tuple)) else told
