"""The settings panel: one widget per decode setting, each explained in a line, with the preset's values.

Only builds components; what the settings mean is decode.settings' business.
"""

from __future__ import annotations

from dataclasses import Field, fields
from typing import Any

import gradio as gr

from ..decode.decoders import DECODERS
from ..decode.reach import REACHES
from ..decode.settings import ATTENTIONS, CONFIDENCES, DecodeSettings
from ..model.presets import PUBLISHED
from ..model.source import Source
from ..view.lanes import TITLES
from .rules import in_a_line
from .shelf import Shelf
from .system import system_panel
from .words import LABELS, label

SHOWN = (
    "max_new_tokens", "block_size", "tau_conf", "confidence", "tau_add", "tau_act",
    "lookahead", "confidence_floor", "anchor_floor", "score_creation_weight", "reach", "attention", "temperature", "seed",
)  # fmt: skip
# what a visitor has no use for: ends of a text, and the official code's choices where ours differ
TECHNICAL = (
    "eos_token_id", "stop_at_eos", "stop_at_end_of_turn", "allow_mask_token", "refresh_boundary", "duplicate_anchor", "round_down",
    "max_rounds",
)  # fmt: skip
RULES = tuple(each for each in fields(DecodeSettings) if each.name not in SHOWN + TECHNICAL)  # a new rule's appear by themselves
NAMES = (*SHOWN, *(each.name for each in RULES))
# (least, most, step) of the sliders; what the page offers, DecodeSettings may allow more
RANGES = {
    "max_new_tokens": (4, 512, 4), "block_size": (4, 128, 4), "lookahead": (0, 15, 1), "tau_conf": (0, 1, 0.01), "tau_add": (0, 1, 0.05),
    "tau_act": (0, 1, 0.05), "confidence_floor": (0, 1, 0.05), "anchor_floor": (0, 1, 0.05), "score_creation_weight": (0, 1, 0.05),
    "temperature": (0, 2, 0.05),
}  # fmt: skip
Widgets = dict[str, gr.components.Component]
OWN = "This model's own"
SIDES = {"left": "confidence", "right": "lopa"}  # and what stands there at first


def defaults(source: Source) -> dict[str, Any]:
    """The values a model is shown with, by setting."""
    settings = DecodeSettings(**source.settings)
    return {name: getattr(settings, name) for name in NAMES}


def preset_values(preset: str, source: Source) -> dict[str, Any]:
    """All settings of a preset: the model's own, with what a table of the paper prescribes; new tokens in whole blocks."""
    values = defaults(source) | PUBLISHED.get(preset, {})
    size = values["block_size"]
    return values | {"max_new_tokens": -(-values["max_new_tokens"] // size) * size}


def settings_panel(shelf: Shelf) -> tuple[Widgets, gr.HTML]:
    """The panel at the side, closed at first; returns its widgets by name (the preset, then the order of `run.start`), and
    what tells of the system."""
    start = defaults(shelf.main.source)
    with gr.Sidebar(label="Settings", open=False, width=360, elem_id="lv-settings"):
        gr.HTML("<h2 class='lv-settings-title'>Settings</h2>", apply_default_css=False)
        widgets = model_group(shelf, start) | filling_group(start) | lookahead_group(start) | sampling_group(start) | rules_group(start)
        system = system_panel()
    return {name: widgets[name] for name in ("preset", "model", *SIDES, *NAMES)}, system


def model_group(shelf: Shelf, start: dict[str, Any]) -> Widgets:
    heading("Model and length")
    decoders = [(TITLES[name], name) for name in DECODERS]
    return {
        "preset": gr.Dropdown(
            [OWN, *PUBLISHED], value=OWN, label="Preset", info="Fills in everything below; the paper's are for D2F-Dream."
        ),
        "model": gr.Dropdown(shelf.choices(), value=shelf.first, label="Model", info=shelf.note(shelf.first)),
        **{side: gr.Dropdown(decoders, value=name, label=label(side), info=in_a_line(name)) for side, name in SIDES.items()},
        "max_new_tokens": slider(start, "max_new_tokens", "A whole number of blocks."),
        "attention": menu(start["attention"], ATTENTIONS, LABELS["attention"], "Whether blocks see those behind them (full); as trained."),
    }


def filling_group(start: dict[str, Any]) -> Widgets:
    heading("Filling and blocks")
    add = "The next block opens once this share of the last one is filled."
    act = "A block fills a mask in every pass once this share of the one before is filled."
    return {
        "tau_conf": slider(start, "tau_conf", "Masks with a higher probability are filled."),
        "confidence": menu(start["confidence"], CONFIDENCES, LABELS["confidence"], "What masks and branches are ranked by."),
        "block_size": slider(start, "block_size", "Masks are opened in blocks of this many tokens."),
        "tau_add": slider(start, "tau_add", add),
        "tau_act": slider(start, "tau_act", act),
    }


def lookahead_group(start: dict[str, Any]) -> Widgets:
    heading("Lookahead (LoPA only)")
    k = "Futures weighed beside the anchor in every pass; 0 is confidence decoding."
    floor = "Least probability a branch's token may have; 0 is LoPA as in the paper."
    anchor = "Least probability that the anchor must still give that token for the branch to win; 0 does not ask, as in the paper."
    weight = "How much a branch's score heeds its own token, not just the masks left; 0 is the paper's score."
    reach = "Which masks a branch is asked about: all of its window, as in the paper, or those of its token's block, which is cheaper."
    return {
        "lookahead": slider(start, "lookahead", k),
        "confidence_floor": slider(start, "confidence_floor", floor),
        "anchor_floor": slider(start, "anchor_floor", anchor),
        "score_creation_weight": slider(start, "score_creation_weight", weight),
        "reach": menu(start["reach"], REACHES, LABELS["reach"], reach),
    }


def sampling_group(start: dict[str, Any]) -> Widgets:
    heading("Sampling")
    return {
        "temperature": slider(start, "temperature", "0 takes the likeliest token; above it tokens are drawn."),
        "seed": gr.Number(start["seed"], precision=0, label=LABELS["seed"], info="The same seed draws the same tokens."),
    }


def rules_group(start: dict[str, Any]) -> Widgets:
    """Parameters of the decoders' rules, as the settings declare them."""
    with gr.Accordion("Rules of other decoders", open=False, elem_id="lv-rules"):
        return {each.name: rule_widget(each, start[each.name]) for each in RULES}


def rule_widget(field: Field, value: Any) -> gr.components.Component:
    told = {"label": label(field.name), "info": sentence(field.metadata["help"])}
    if "choices" in field.metadata:
        return gr.Dropdown(list(field.metadata["choices"]), value=value, **told)
    low, high = field.metadata["range"]
    return gr.Number(
        value, minimum=low, maximum=high, precision=0 if field.metadata["whole"] else None, step=1 if high > 1 else 0.05, **told
    )


def sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def slider(start: dict[str, Any], name: str, info: str) -> gr.Slider:
    low, high, step = RANGES[name]
    return gr.Slider(low, max(high, start[name]), start[name], step=step, label=LABELS[name], info=info)


def menu(value: str, choices: tuple[str, ...], label: str, info: str) -> gr.Dropdown:
    return gr.Dropdown(list(choices), value=value, label=label, info=info)


def heading(text: str) -> None:
    gr.HTML(f"<h3 class='lv-group'>{text}</h3>", apply_default_css=False)
