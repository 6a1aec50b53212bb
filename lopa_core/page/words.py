"""What the page calls the settings: labels of its widgets, and sentences that use them instead of parameter names."""

from __future__ import annotations

import re

LABELS = {
    "max_new_tokens": "New tokens",
    "block_size": "Block size",
    "tau_conf": "τ conf",
    "confidence": "Confidence function",
    "tau_add": "τ add",
    "tau_act": "τ act",
    "lookahead": "k, lookahead branches",
    "confidence_floor": "Confidence floor",
    "anchor_floor": "Anchor floor",
    "reach": "Reach of a branch",
    "score_creation_weight": "Weight of the tried token",
    "attention": "Attention",
    "temperature": "Temperature",
    "seed": "Seed",
}


def label(name: str) -> str:
    """A setting's name for a visitor."""
    return LABELS.get(name, name.replace("_", " ").capitalize())


def plain(sentence: str) -> str:
    """`sentence` for a visitor: a setting at its beginning by its label, an empty field said to be empty."""
    name = re.match(r"\w*", sentence)[0]
    said = label(name) + sentence[len(name) :] if name in LABELS or "_" in name else sentence
    return said.replace(", not None.", ", but it is empty.")
