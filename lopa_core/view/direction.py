"""Texts of either direction inside the page's own sentences, which read from left to right."""

from __future__ import annotations

import re

# letters that read from right to left, as assets/viewer/js/10-text.js has them: Hebrew, Arabic, Syriac, Adlam and others
RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")
CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")  # embeddings, overrides and isolates: they would reach beyond their text
ISOLATE, LEFT_TO_RIGHT, END = "\u2068", "\u2066", "\u2069"


def apart(text: str) -> str:
    """`text` so that it keeps its own order and leaves the sentence around it its own; most texts stay as they are."""
    shown = CONTROLS.sub(lambda found: f"{LEFT_TO_RIGHT}⟨U+{ord(found[0]):04X}⟩{END}", text)
    return f"{ISOLATE}{shown}{END}" if RIGHT_TO_LEFT.search(shown) else shown
