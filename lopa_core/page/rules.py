"""Which rules make a decoder what it is: from a card to its decoders, and from a decoder to its card."""

from __future__ import annotations

from ..decode.decoders import DECODERS
from ..decode.rules.card import Card
from ..decode.rules.registry import cards
from ..decode.settings import DecodeSettings

FIELDS = {"re-masking": "remask"}  # settings that are not called as the kind of their rule
RULES = ("selection", "branching", "remask", "terminator", "suffix")
TELLING = ("branching", "re-masking", "terminator", "prediction", "selection")  # kinds of rules, the most telling one first


def users(card: Card) -> list[str]:
    """Names of the decoders that a rule makes what they are."""
    return [name for name, changes in DECODERS.items() if works(card, changes)]


def works(card: Card, changes: dict[str, object]) -> bool:
    if card.kind == "prediction":
        return "credit_alpha" in changes
    field = FIELDS.get(card.kind, card.kind)
    if getattr(DecodeSettings(), field) != card.name:
        return changes.get(field) == card.name
    # a usual rule: of those that change no rule, selection makes the ones without branches, branching the others
    plain = not {*RULES, "credit_alpha"} & changes.keys()
    return plain and (changes.get("lookahead") == 0) == (field == "selection")


def in_a_line(name: str) -> str:
    """A decoder's most telling rule: where it is from, and its formula."""
    card = min((card for card in cards() if name in users(card)), key=lambda card: TELLING.index(card.kind))
    return f"{card.source}: {card.formula}."
