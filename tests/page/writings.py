"""Texts of both directions as traces made by hand: after the first pass every third slot is written, guessed or a mask."""

from __future__ import annotations

from lopa_core.trace.trace import Trace, TraceBranch, TraceRound, TraceSeen

MASK, END, FIRST = 0, 1, 10  # token ids
BLOCK, PASSES = 8, 3

# pieces as a tokenizer cuts them; a blank stands before a word's first one
TEXTS = {
    "arabic": ["ذهبت", " الم", "علمة", " أحمد", " إلى", " هذا", " ال", "مست", "شف", "يات", " يوم", " الأحد", "."],
    "persian": ["مریم", " ۱۹", " سیب", " خر", "ید", " و", " می", "\u200c", "خواهد", " 7", " تا", " بخ", "ورد", "."],
    "latin names": ["הילדה", " Dana", " Le", "vi", " מצאה", " 1", "7", " צד", "פים", " ב", "-", "Lon", "don", "."],
    "paragraphs": ["ענת", " הלכה", "\n", "Ana", " went", " to", " the", " sea", "\n", "גם", " דן"],
    "english": ["Ana", " has", " ", "שבע", " ", "תפוחים", " and", " 3", " pears", "."],
    "plain": ["Ana", " has", " sev", "en", " sh", "ells", " and", " 3", " pears", "."],
}


def trace(words: list[str], decoder: str = "lopa", passes: int = PASSES) -> Trace:
    """The text of these pieces as a decode of `passes` passes, each with a losing lookahead; ends fill the last block."""
    size = -(-len(words) // BLOCK) * BLOCK
    tokens = tuple(FIRST + slot if slot < len(words) else END for slot in range(size))
    rounds = tuple(round_of(tokens, number, passes) for number in range(passes))
    return Trace(
        model="hand", decoder=decoder, settings={"stop_at_eos": True, "block_size": BLOCK, "max_new_tokens": size, "lookahead": 1},
        prompt="".join(words), prompt_tokens=3, end_ids=(END,), mask_id=MASK, rounds=rounds, tokens=tokens, reason="eos",
        text="".join(words), hardware="none", recorded="2026-01-01T00:00:00+00:00", devices=("none",),
        texts=(*words, *["<|end|>"] * (size - len(words))), special=(MASK, END),
        pieces={FIRST + slot: word for slot, word in enumerate(words)} | {MASK: "<|mask|>", END: "<|end|>"},
    )  # fmt: skip


def round_of(tokens: tuple[int, ...], number: int, passes: int) -> TraceRound:
    """Pass `number`: it writes the slots whose number leaves that rest."""
    slots = tuple(slot for slot in range(len(tokens)) if number <= slot % passes <= number + 1)
    filled = tuple(place for place, slot in enumerate(slots) if slot % passes == number)
    anchor = branch(tokens, slots)
    ahead = branch(tokens, slots[1:], slot=slots[0], token=tokens[slots[0]], probability=0.5)
    return TraceRound((ahead, anchor), 1, filled, 0, len(tokens), float(number + 1), 0.5)


def branch(tokens: tuple[int, ...], slots: tuple[int, ...], **tried) -> TraceBranch:
    return TraceBranch(-0.5, len(slots), TraceSeen(slots, tuple(tokens[slot] for slot in slots), (0.9,) * len(slots)), **tried)
