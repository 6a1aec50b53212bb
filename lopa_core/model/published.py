"""Decode settings as others published them, under the names of decode.settings.DecodeSettings."""

from __future__ import annotations

_PAPER = {
    "tau_add": 0.1, "tau_act": 0.95, "confidence": "neg_entropy", "confidence_floor": 0.0, "anchor_floor": 0.0,
    "score_creation_weight": 0.0,
}  # fmt: skip
# hyperparameters of LoPA's Table 5 (arXiv 2512.16229), for D2F-Dream; "branches" there is our lookahead
PUBLISHED: dict[str, dict[str, object]] = {
    "LoPA paper, GSM8K": _PAPER | {"block_size": 32, "tau_conf": 0.9, "lookahead": 14},
    "LoPA paper, MATH": _PAPER | {"block_size": 16, "tau_conf": 0.9, "lookahead": 7},
    "LoPA paper, HumanEval": _PAPER | {"block_size": 32, "tau_add": 0.3, "tau_conf": 0.95, "lookahead": 7},
    "LoPA paper, MBPP": _PAPER | {"block_size": 32, "tau_add": 0.3, "tau_conf": 0.95, "lookahead": 7},
}
# LoPA on LLaDA and Dream as they are, block by block, as RPD (arXiv 2609.36452) ran it against other decoders
RERUN: dict[str, object] = {"max_new_tokens": 256, "block_size": 32, "tau_conf": 0.9, "lookahead": 3, "confidence": "neg_entropy"}
# D2F (arXiv 2508.09192), LLaDA on GSM8K; its training is block-causal
D2F_LLADA: dict[str, object] = {
    "max_new_tokens": 512, "block_size": 64, "tau_add": 0.7, "tau_act": 0.95, "tau_conf": 0.9, "attention": "block_causal",
}  # fmt: skip
