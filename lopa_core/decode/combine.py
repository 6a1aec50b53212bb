"""Which rules do not go together, each with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .parameters import SettingsError
from .rules.registry import NONE, SELECTIONS, superposes

if TYPE_CHECKING:
    from .settings import DecodeSettings


def check_combination(chosen: DecodeSettings) -> None:
    """Raise SettingsError where parts of a decoder contradict each other."""
    if chosen.temperature and SELECTIONS[chosen.selection].greedy:
        raise SettingsError(f"Selection {chosen.selection} compares predictions, so it takes temperature 0, not {chosen.temperature:g}.")
    if chosen.branching == "draft":
        if chosen.temperature:
            raise SettingsError(f"Drafts are verified against the best tokens, so they take temperature 0, not {chosen.temperature:g}.")
        if "divergences" in SELECTIONS[chosen.selection].columns or SELECTIONS[chosen.selection].course:
            raise SettingsError(f"Drafts need a rule that judges every branch; selection {chosen.selection} knows the winner's past alone.")
    if chosen.reach != "window":
        if chosen.branching not in ("lookahead", "adaptive"):
            raise SettingsError(f"Reach {chosen.reach} is for branches of one token; branching {chosen.branching} takes reach window.")
        if superposes(chosen) or "divergences" in SELECTIONS[chosen.selection].columns:
            raise SettingsError(f"Selection {chosen.selection} looks at whole branches: it takes reach window, not {chosen.reach}.")
        if chosen.reach == "masks" and chosen.attention != "block_causal":
            raise SettingsError("Reach masks reads keys that have not seen the tried token, for block-causal attention only: take block.")
    if chosen.remask != NONE and (chosen.lookahead or chosen.temperature):
        raise SettingsError(f"Re-masking ({chosen.remask}) doubts the tokens of one canvas: it takes lookahead 0 and temperature 0.")
    if chosen.suffix != NONE and chosen.attention != "full":
        raise SettingsError("Under block-causal attention no slot sees a later block, so suffix has to be none.")
    if chosen.suffix == "cached" and superposes(chosen):
        raise SettingsError("Superposed copies stand where a cached suffix would: take suffix masks or none.")
    if "divergences" in SELECTIONS[chosen.selection].columns and superposes(chosen):
        raise SettingsError(f"Selection {chosen.selection} compares distributions of masks, not of superposed copies: take another remask.")
    if chosen.duplicate_anchor and chosen.branching != "lookahead":
        raise SettingsError(f"duplicate_anchor belongs to the official LoPA, branching lookahead, not to {chosen.branching}.")
