"""The catalogue of models, as data: where a model lies and which settings suit it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Preset:
    """A model and the decode settings it is shown with (names of decode.settings.DecodeSettings)."""

    title: str
    folder: Path
    note: str
    settings: dict[str, object] = field(default_factory=dict)


ASSETS = Path(__file__).resolve().parents[2] / "assets"

PRESETS = {
    "lopa-tiny": Preset(
        title="LoPA tiny (5M), comes with this page",
        folder=ASSETS / "lopa-tiny",
        note="Grade-school word problems with numbers up to 100. Other prompts give grammatical nonsense.",
        settings={
            "max_new_tokens": 80,
            "block_size": 16,
            "attention": "block_causal",
            "tau_add": 0.1,
            "tau_conf": 0.9,
            "lookahead": 7,
            # chosen on 250 held-out problems of another seed than the ones reported
            "confidence_floor": 0.6,
            "score_creation_weight": 0.2,
        },
    ),
}
DEFAULT = "lopa-tiny"

_PAPER = {"tau_add": 0.1, "tau_act": 0.95, "confidence": "neg_entropy", "confidence_floor": 0.0, "score_creation_weight": 0.0}
# hyperparameters of LoPA's Table 5 (arXiv 2512.16229), for D2F-Dream; "branches" there is our lookahead
PUBLISHED: dict[str, dict[str, object]] = {
    "LoPA paper, GSM8K": _PAPER | {"block_size": 32, "tau_conf": 0.9, "lookahead": 14},
    "LoPA paper, MATH": _PAPER | {"block_size": 16, "tau_conf": 0.9, "lookahead": 7},
    "LoPA paper, HumanEval": _PAPER | {"block_size": 32, "tau_add": 0.3, "tau_conf": 0.95, "lookahead": 7},
    "LoPA paper, MBPP": _PAPER | {"block_size": 32, "tau_add": 0.3, "tau_conf": 0.95, "lookahead": 7},
}


def settings_for(folder: str | Path) -> dict[str, object]:
    """The preset settings of a model folder; empty if it is not in the catalogue."""
    path = Path(folder).resolve()
    return next((preset.settings for preset in PRESETS.values() if preset.folder.resolve() == path), {})
