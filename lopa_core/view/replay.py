"""A state as a self-contained HTML file: it opens by double click and asks the network for nothing.

Plotly's script and the state are gzip in base64, which every browser since 2023 unpacks itself: 5 MB become 2.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from html import escape
from typing import Any

from . import files
from .figure import Figure

LEAD = (
    "A recorded race of one diffusion language model: plain confidence decoding beside lookahead parallel decoding, on one prompt. "
    "Everything is inside this file."
)


def replay_html(state: dict[str, Any]) -> str:
    """The whole page as text. state: of `view.state`."""
    return page(f"LoPA Side by Side: {state['prompt'][:80]}", LEAD, state)


def figures_html(title: str, lead: str, figures: dict[str, Figure]) -> str:
    """Figures alone as such a file. lead: a line above them."""
    return page(title, lead, figures_state(figures))


def figures_state(figures: dict[str, Figure]) -> dict[str, Any]:
    """What the viewer draws figures from where there is no race."""
    return {"only": "figures", "figures": {name: json.dumps(each, ensure_ascii=False) for name, each in figures.items()}}


def page(title: str, lead: str, state: dict[str, Any]) -> str:
    parts = {
        "title": escape(title),
        "lead": escape(lead),
        "css": files.css(),
        "skeleton": files.skeleton(),
        "plotly": packed(files.PLOTLY.read_text(encoding="utf-8")),
        "js": files.script(),
        "state": packed(json.dumps(state, separators=(",", ":"))),
    }
    # in one pass: the script itself may hold placeholders, which fill other pages
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], files.template())


def packed(text: str) -> str:
    # no time inside, so that the same state gives the same file
    return base64.b64encode(gzip.compress(text.encode("utf-8"), mtime=0)).decode("ascii")
