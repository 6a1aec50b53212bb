"""The tab on all decoders: what a benchmark measured of them, and a card for every rule."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

import gradio as gr

from ..bench.report import ReportError, read
from ..decode.decoders import DECODERS
from ..decode.rules.card import Card
from ..decode.rules.registry import cards
from ..decode.settings import DecodeSettings
from ..view import files
from ..view.lanes import TITLES
from ..view.pareto import pareto_figures

REPORT = Path(__file__).resolve().parents[2] / "assets" / "decoders.json"
COMMAND = "python -m lopa_core bench --decoders all --limit {} --threads 1 --out assets/decoders.json"
RULES = ("selection", "branching", "remask", "terminator", "suffix")
FACTS = {
    "formula": "Rule",
    "defaults": "Its defaults",
    "rows": "More rows a pass",
    "tokens": "More tokens a pass",
    "inferred": "Ours in it",
}


def decoders_tab() -> None:
    """Everything is made once: nothing of it changes while the page runs."""
    try:
        report = read(REPORT)
        charts(report)
    except ReportError as error:
        gr.HTML(f"<p class='lv-notice'>{escape(str(error))}</p>", apply_default_css=False)
    gr.HTML(shelf_html(), elem_id="lv-cards", apply_default_css=False)


def charts(report: dict[str, Any]) -> None:
    """Drawn by the viewer's own script."""
    count, day = report["results"][0]["problems"], report["recorded"][:10]
    about = f"{count} held-out word problems, {report['model']}, {report['hardware']}, {day}; made by: {COMMAND.format(count)}"
    figures = {name: json.dumps(each, ensure_ascii=False) for name, each in pareto_figures(report["results"], about).items()}
    gr.HTML(
        {"only": "figures", "figures": figures}, html_template=files.skeleton().replace("lv-how-title", "lv-how-title-2"),
        js_on_load=files.script(), elem_id="lv-decoders", apply_default_css=False,
        plotly_url=f"gradio_api/file={files.PLOTLY}", replay=None,
    )  # fmt: skip


def shelf_html() -> str:
    """A card per rule, with the decoders that use it."""
    return f"<div class='lv-shelf'>{''.join(card_html(card, users(card)) for card in cards())}</div>"


def users(card: Card) -> list[str]:
    """Names of the decoders that a rule makes what they are."""
    return [name for name, changes in DECODERS.items() if works(card, changes)]


def works(card: Card, changes: dict[str, object]) -> bool:
    if card.kind == "prediction":
        return "credit_alpha" in changes
    field = {"re-masking": "remask"}.get(card.kind, card.kind)
    if getattr(DecodeSettings(), field) != card.name:
        return changes.get(field) == card.name
    # a usual rule: of those that change no rule, selection makes the ones without branches, branching the others
    plain = not {*RULES, "credit_alpha"} & changes.keys()
    return plain and (changes.get("lookahead") == 0) == (field == "selection")


def card_html(card: Card, names: list[str]) -> str:
    facts = [(word, getattr(card, name)) for name, word in FACTS.items() if getattr(card, name) not in ("", "none")]
    told = "".join(f"<dt>{word}</dt><dd>{escape(fact)}</dd>" for word, fact in facts)
    links = " ".join(f"<a href='?decoder={escape(name)}'>Race {escape(TITLES[name])}</a>" for name in names if name != "confidence")
    head = f"<h3>{escape(card.title)}</h3><p class='lv-kind'>{escape(card.kind)} · {escape(card.source)}</p>"
    return f"<article>{head}<dl>{told}</dl><p class='lv-races'>{links}</p></article>"
