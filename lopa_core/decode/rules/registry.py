"""All rules by name. Adding one is a file beside this one and a line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import credit, draft, entropy_bound, factor, klass, leap, local_leap, lopa, pivot, plain, prophet, saber, suffix, wino
from .card import Branching, Card, Remasking, Selection, Terminator

if TYPE_CHECKING:
    from ..settings import DecodeSettings

SELECTIONS: dict[str, Selection] = {
    rule.card.name: rule
    for rule in (
        plain.THRESHOLD, plain.ONE, factor.RULE, entropy_bound.RULE, local_leap.RULE, klass.RULE, leap.RULE,
        wino.SELECTION, saber.SELECTION,
    )
}  # fmt: skip
TERMINATORS: dict[str, Terminator] = {rule.card.name: rule for rule in (prophet.RULE,)}
BRANCHINGS: dict[str, Branching] = {rule.card.name: rule for rule in (lopa.LOOKAHEAD, lopa.ADAPTIVE, draft.RULE, pivot.RULE)}
REMASKINGS: dict[str, Remasking] = {rule.card.name: rule for rule in (wino.REMASKING, saber.REMASKING)}
NONE = "none"


def columns(settings: DecodeSettings) -> tuple[str, ...]:
    """What a record has to hold beyond 12 bytes for these settings; names of decode.columns.COLUMNS."""
    asked = [SELECTIONS[settings.selection].columns, BRANCHINGS[settings.branching].columns]
    if settings.terminator != NONE:
        asked.append(TERMINATORS[settings.terminator].columns)
    if settings.remask != NONE:
        asked.append(("claims",))
    if settings.credit_alpha > 0:
        asked.append(("raw_tokens", "raw_probabilities"))
    return tuple(dict.fromkeys(name for names in asked for name in names))


def superposes(settings: DecodeSettings) -> bool:
    """Whether rounds have superposed copies (decode/superposed.py)."""
    return SELECTIONS[settings.selection].futures or (settings.remask != NONE and REMASKINGS[settings.remask].blind)


def cards() -> list[Card]:
    """What is known of every rule, for a page or a README to list."""
    rules = (*SELECTIONS.values(), *TERMINATORS.values(), *BRANCHINGS.values(), *REMASKINGS.values())
    return [*(rule.card for rule in rules), credit.CARD, *suffix.CARDS]
