"""Every choice of a decoder, frozen and checked on construction. Names are the papers'.

A decoder is a block schedule (tau_add, tau_act) x a selection rule x branching (lookahead).
The names in DECODERS are values of these settings; nothing else differs between them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

SELECTIONS = ("threshold", "one")
CONFIDENCES = ("probability", "margin", "neg_entropy")
ATTENTIONS = ("full", "block_causal")
DECODERS = ("vanilla", "confidence", "lopa", "lopa-paper")
LARGEST_LOOKAHEAD = 64


class SettingsError(ValueError):
    """A setting out of its range, or a prompt that cannot be decoded; the message is for a person."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DecodeSettings:
    """Settings of one decode. Lengths in tokens; tau_*, fractions and weights in 0..1. Raises SettingsError.

    The default goes block by block, which suits every masked diffusion model; presets of models trained for it (D2F)
    pipeline their blocks.

    Where ours and the official code differ, the default is ours and `reference()` gives the official choice:
    - stop_at_eos: stop once an end-of-text is written and nothing before it is masked. The official code
      decodes open blocks to the last mask, which costs rounds nobody sees.
    - allow_mask_token: the official code may predict the mask id, which commits nothing and can loop for ever.
    - refresh_boundary: predict the first slot behind the cache anew in every round. The official code keeps the
      prediction made when the cache last grew, blind to everything written since (shifted models, full attention).
    - duplicate_anchor: where no mask is left to look ahead at, the official code runs the anchor twice.
    - round_down: the official code drops the slots that do not fill a whole block; we refuse such a length.
    """

    max_new_tokens: int = 96
    block_size: int = 16
    tau_add: float = 1.0  # filled share of the last block that opens one more; below 1 (D2F: 0.1) blocks are pipelined
    tau_act: float = 0.95  # filled share of a block from which the next one is fully active
    tau_conf: float = 0.9  # Eq. 1: masks with a higher probability are filled (strictly)
    selection: str = "threshold"
    lookahead: int = 4  # k: lookahead branches beside the anchor
    confidence_floor: float = 0.0  # ours: smallest probability a lookahead token may have; 0 is the paper's LoPA
    confidence: str = "neg_entropy"
    score_tail_fraction: float = 1.0  # branch confidence = mean over this share of the least confident masks
    score_creation_weight: float = 0.0  # weight of the tried token's own confidence in the branch score
    attention: str = "full"
    temperature: float = 0.0
    seed: int = 0
    eos_token_id: int | None = None  # None: the checkpoint's own
    stop_at_eos: bool = True
    allow_mask_token: bool = False
    refresh_boundary: bool = True
    duplicate_anchor: bool = False
    round_down: bool = False
    max_rounds: int | None = None  # None: one per slot and block, which is enough for every model

    def __post_init__(self) -> None:
        whole(self, "max_new_tokens", 1, 4096)
        whole(self, "block_size", 1, 4096)
        whole(self, "lookahead", 0, LARGEST_LOOKAHEAD)
        whole(self, "seed", 0, 2**63 - 1)
        for name in ("tau_add", "tau_act", "tau_conf", "confidence_floor", "score_tail_fraction", "score_creation_weight"):
            between(self, name, 0.0, 1.0)
        between(self, "temperature", 0.0, 5.0)
        if 0 < self.temperature < 0.01:
            raise SettingsError(f"temperature must be 0, which takes the best token, or at least 0.01, not {self.temperature!r}.")
        one_of(self, "selection", SELECTIONS)
        one_of(self, "confidence", CONFIDENCES)
        one_of(self, "attention", ATTENTIONS)
        if self.max_rounds is not None:
            whole(self, "max_rounds", 1, 100_000)
        if self.eos_token_id is not None:
            whole(self, "eos_token_id", 0, 2**31)
        if self.block_size > self.max_new_tokens:
            raise SettingsError(f"A block of {self.block_size} is longer than the {self.max_new_tokens} new tokens asked for.")
        if self.max_new_tokens % self.block_size and not self.round_down:
            lower = self.slots
            raise SettingsError(
                f"{self.max_new_tokens} new tokens are not a whole number of blocks of {self.block_size}: "
                f"take {lower} or {lower + self.block_size}."
            )

    @property
    def slots(self) -> int:
        """Slots of the canvas behind the prompt: whole blocks."""
        return self.max_new_tokens // self.block_size * self.block_size

    @property
    def round_limit(self) -> int:
        """Rounds after which decoding stops whatever happens."""
        return self.max_rounds or self.slots + self.slots // self.block_size + 1

    def eos(self, checkpoint: int | None) -> int | None:
        """The end-of-text token: these settings' own, else the checkpoint's."""
        return checkpoint if self.eos_token_id is None else self.eos_token_id

    def reference(self) -> DecodeSettings:
        """The same decoder with the official code's choices; only the round limit stays."""
        official = {"confidence_floor": 0.0, "stop_at_eos": False, "allow_mask_token": True, "refresh_boundary": False}
        return replace(self, **official, duplicate_anchor=True, round_down=True)

    def decoder(self, name: str) -> DecodeSettings:
        """The same settings as one of DECODERS: one token per pass, no lookahead, these settings, the paper's LoPA."""
        changes: dict[str, dict[str, object]] = {
            "vanilla": {"selection": "one", "lookahead": 0, "tau_add": 1.0, "tau_act": 1.0},
            "confidence": {"lookahead": 0},
            "d2f": {"lookahead": 0},  # the conformance cases' name for confidence decoding over pipelined blocks
            "lopa": {},
            "lopa-paper": {"confidence_floor": 0.0, "score_creation_weight": 0.0},
        }
        if name not in changes:
            raise SettingsError(f"There is no decoder {name!r}: take {', '.join(DECODERS)}.")
        return replace(self, **changes[name])


def whole(settings: Any, name: str, low: int, high: int) -> None:
    value = getattr(settings, name)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise SettingsError(f"{name} must be a whole number from {low} to {high}, not {value!r}.")


def between(settings: Any, name: str, low: float, high: float) -> None:
    value = getattr(settings, name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise SettingsError(f"{name} must lie between {low:g} and {high:g}, not {value!r}.")


def one_of(settings: Any, name: str, allowed: tuple[str, ...]) -> None:
    if getattr(settings, name) not in allowed:
        raise SettingsError(f"{name} must be one of {', '.join(allowed)}, not {getattr(settings, name)!r}.")
