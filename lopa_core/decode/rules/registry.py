"""All rules by name. Adding one is a file beside this one and a line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import entropy_bound, factor, local_leap, plain
from .card import Card, Selection

if TYPE_CHECKING:
    from ..settings import DecodeSettings

SELECTIONS: dict[str, Selection] = {
    rule.card.name: rule for rule in (plain.THRESHOLD, plain.ONE, factor.RULE, entropy_bound.RULE, local_leap.RULE)
}


def columns(settings: DecodeSettings) -> tuple[str, ...]:
    """What a record has to hold beyond 12 bytes for these settings; names of decode.columns.COLUMNS."""
    return SELECTIONS[settings.selection].columns


def cards() -> list[Card]:
    """What is known of every rule, for a page or a README to list."""
    return [rule.card for rule in SELECTIONS.values()]
