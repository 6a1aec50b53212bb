"""The tab on all decoders: what a benchmark measured of them, and a card for every rule."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import gradio as gr

from ..bench.report import ReportError, read
from ..decode.rules.card import Card
from ..decode.rules.registry import cards
from ..tasks import registry
from ..view.lanes import TITLES
from ..view.pareto import pareto_figures
from .charts import charts
from .rules import users

REPORT = Path(__file__).resolve().parents[2] / "assets" / "decoders.json"
COMMAND = "python -m lopa_core bench --decoders all --task {} --limit {} --threads 1 --out assets/decoders.json"
FACTS = {
    "formula": "Rule",
    "defaults": "Its defaults",
    "rows": "More rows a pass",
    "tokens": "More tokens a pass",
    "inferred": "Ours in it",
}
# a plain click stays on this page, with its prompt and its settings; the link is for a tab of its own
RACE_JS = """
element.addEventListener('click', (event) => {
  const link = event.target.closest('a[data-decoder]');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  trigger('race', { decoder: link.dataset.decoder });
});
"""


def decoders_tab() -> gr.HTML:
    """Everything is made once: nothing of it changes while the page runs. Returns the cards, whose event `race` names a decoder."""
    try:
        measured(read(REPORT))
    except ReportError as error:
        gr.HTML(f"<p class='lv-notice'>{escape(str(error))}</p>", apply_default_css=False)
    return gr.HTML(shelf_html(), js_on_load=RACE_JS, elem_id="lv-cards", apply_default_css=False)


def measured(report: dict[str, Any]) -> None:
    count, task, day = report["results"][0]["problems"], report["task"], report["recorded"][:10]
    on = f"{count} held-out {registry.title(task)}, {report['model']}, {report['hardware']}, {day}"
    charts(pareto_figures(report["results"], f"{on}; made by: {COMMAND.format(task, count)}"), "lv-decoders")


def shelf_html() -> str:
    """A card per rule, with the decoders that use it."""
    return f"<div class='lv-shelf'>{''.join(card_html(card, users(card)) for card in cards())}</div>"


def card_html(card: Card, names: list[str]) -> str:
    facts = [(word, getattr(card, name)) for name, word in FACTS.items() if getattr(card, name) not in ("", "none")]
    told = "".join(f"<dt>{word}</dt><dd>{escape(fact)}</dd>" for word, fact in facts)
    head = f"<h3>{escape(card.title)}</h3><p class='lv-kind'>{escape(card.kind)} · {escape(card.source)}</p>"
    return f"<article>{head}<dl>{told}</dl><p class='lv-races'>{' '.join(map(race_link, names))}</p></article>"


def race_link(name: str) -> str:
    """Puts a decoder on the right; what usually stands on the left makes way for another one."""
    sides = {"right": name} | ({"left": "lopa"} if name == "confidence" else {})
    return f"<a href='?{escape(urlencode(sides))}' data-decoder='{escape(name)}'>Race {escape(TITLES[name])}</a>"
