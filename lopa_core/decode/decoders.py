"""Decoders by name: each is a handful of settings, on top of whatever else was chosen.

Every selection rule without branches is a decoder of its own name; what is listed here goes beyond that.
"""

from __future__ import annotations

from .rules.registry import SELECTIONS

Changes = dict[str, object]

NAMED: dict[str, Changes] = {
    "vanilla": {"selection": "one", "lookahead": 0, "tau_add": 1.0, "tau_act": 1.0},
    "confidence": {"lookahead": 0},
    "lopa": {},
    "lopa-paper": {"confidence_floor": 0.0, "anchor_floor": 0.0, "score_creation_weight": 0.0, "reach": "window"},
    "lopa+leap": {"selection": "leap"},
    "adaptive-lopa": {"branching": "adaptive", "lookahead": 3, "adaptive_gap": 0.5, "reach": "block"},
    "freedave": {"selection": "one", "branching": "draft", "lookahead": 3, "tau_add": 1.0, "tau_act": 1.0},
    "freedave++": {"branching": "draft", "lookahead": 3},
    "wino": {"selection": "wino", "remask": "wino", "lookahead": 0},
    "saber": {"selection": "saber", "remask": "saber", "lookahead": 0},
    "ripple-pivot": {"branching": "pivot", "lookahead": 3},
    "credit": {"lookahead": 0, "credit_alpha": 0.7},
    "prophet": {"lookahead": 0, "terminator": "prophet"},
}
PLAIN = ("threshold", "one")  # confidence and vanilla are their names
RULES: dict[str, Changes] = {name.replace("_", "-"): {"selection": name, "lookahead": 0} for name in SELECTIONS if name not in PLAIN}
DECODERS = NAMED | {name: changes for name, changes in RULES.items() if name not in NAMED}
ALIASES = {"d2f": "confidence"}  # the conformance cases' name for confidence decoding over pipelined blocks
