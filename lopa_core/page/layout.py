"""The page: components from top to bottom, and which event runs what. No decoding, no drawing.

Each visitor's run belongs to that visitor: the only thing shared is the shelf of loaded models.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr
import plotly

from ..runtime.session import Model
from .examples import EXAMPLES
from .run import Shelf, Stop, states
from .widgets import NAMES, about, defaults, settings_panel

VIEWER = Path(__file__).resolve().parents[2] / "assets" / "viewer"
PLOTLY = Path(plotly.__file__).resolve().parent / "package_data" / "plotly.min.js"
SANS = ("-apple-system", "BlinkMacSystemFont", "Segoe UI", "Roboto", "Helvetica Neue", "Liberation Sans", "Arial", "sans-serif")
MONO = ("ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "Liberation Mono", "monospace")
HEADER = """
<header class="lv-head">
  <h1>LoPA <span><em>Side</em> by <em>Side</em></span></h1>
  <p>One diffusion language model, one prompt, two decoders: plain confidence decoding against lookahead parallel
  decoding, live. <a href="https://arxiv.org/abs/2512.16229" target="_blank" rel="noopener noreferrer">Read the paper,
  arXiv&nbsp;2512.16229</a></p>
</header>
"""
# the sentence may quote what a visitor typed: it is set as text, never as HTML
BANNER_JS = """
const banner = element.querySelector('.lv-banner');
const show = () => { banner.textContent = props.value || ''; banner.hidden = !props.value; };
show(); watch('value', show);
"""


def look() -> dict[str, Any]:
    """What `launch` needs for the looks: theme and style sheet."""
    theme = gr.themes.Base(primary_hue="slate", neutral_hue="slate", radius_size="md", font=SANS, font_mono=MONO)
    return {"theme": theme, "css_paths": [VIEWER / "viewer.css"]}


def build(model: Model) -> gr.Blocks:
    """The page for `model`, ready to be launched with `look()`."""
    gr.set_static_paths([PLOTLY])
    shelf = Shelf(model)
    with gr.Blocks(title="LoPA Side by Side", analytics_enabled=False, fill_width=True) as page:
        gr.HTML(HEADER, apply_default_css=False)
        with gr.Column(elem_id="lv-ask"):
            prompt = gr.Textbox(next(iter(EXAMPLES.values())).question, label="Prompt", lines=2, max_lines=8, elem_id="lv-prompt")
            with gr.Row(elem_id="lv-chips"):
                example_chips(prompt)
            with gr.Row(elem_id="lv-buttons"):
                run = gr.Button("Run", variant="primary", elem_id="lv-run", min_width=120)
                stop = gr.Button("Stop", interactive=False, elem_id="lv-stop", min_width=90)
            banner = gr.HTML(
                "", html_template='<p class="lv-banner" role="alert" hidden></p>', js_on_load=BANNER_JS, apply_default_css=False
            )
            widgets = settings_panel(shelf)
        html, js = ((VIEWER / name).read_text(encoding="utf-8") for name in ("viewer.html", "viewer.js"))
        viewer = gr.HTML(
            {}, html_template=html, js_on_load=js, plotly_url=f"gradio_api/file={PLOTLY}", elem_id="lv-viewer", apply_default_css=False
        )
        connect(shelf, prompt, run, stop, widgets, viewer, banner)
    page.queue(default_concurrency_limit=1, max_size=16)
    return page


def example_chips(prompt: gr.Textbox) -> None:
    """A button per example; it fills the prompt in the browser, without a round trip."""
    gr.HTML("<span class='lv-chips-label'>Try</span>", apply_default_css=False)
    for title, each in EXAMPLES.items():
        chip = gr.Button(title, size="sm", elem_classes="lv-chip", min_width=0)
        chip.click(fn=None, js=f"() => {json.dumps(each.question)}", outputs=prompt, api_visibility="private")


def connect(
    shelf: Shelf, prompt: gr.Textbox, run: gr.Button, stop: gr.Button, widgets: dict[str, Any], viewer: gr.HTML, banner: gr.HTML
) -> None:
    """Run: buttons, race, buttons again; whatever happens to the race, the buttons come back."""
    wish = gr.State(None)
    private = {"api_visibility": "private", "queue": False, "show_progress": "hidden"}
    begun = run.click(begin, None, [wish, run, stop], **private)
    raced = begun.then(comparison(shelf), [prompt, *widgets.values(), wish], [viewer, banner], api_name="compare", show_progress="hidden")
    raced.then(end, None, [run, stop], **private)
    stop.click(ask_to_stop, wish, stop, **private)
    prompt.submit(fn=None, js="() => { document.querySelector('#lv-run').click(); }", api_visibility="private")
    widgets["model"].change(presets_of, widgets["model"], [widgets["model"], *(widgets[name] for name in NAMES)], **private)


def begin() -> tuple[Stop, Any, Any]:
    return Stop(), gr.update(value="Running…", interactive=False), gr.update(interactive=True)


def end() -> tuple[Any, Any]:
    return gr.update(value="Run", interactive=True), gr.update(value="Stop", interactive=False)


def ask_to_stop(wish: Stop | None) -> Any:
    if wish:
        wish.wanted = True
    return gr.update(interactive=False)


def presets_of(model: str) -> list[Any]:
    """The settings of another model, once it is chosen."""
    values = defaults(model)
    return [gr.update(info=about(model)), *(values[name] for name in NAMES)]


def comparison(shelf: Shelf) -> Any:
    """The event that runs a race; its parameters are those of the public API."""

    def compare(
        prompt: str, model: str, baseline: str, max_new_tokens: int, block_size: int, tau_conf: float, confidence: str, tau_add: float,
        tau_act: float, lookahead: int, confidence_floor: float, score_creation_weight: float, attention: str, temperature: float,
        seed: int, wish: Stop | None = None,
    ) -> Iterator[tuple[Any, str]]:  # fmt: skip
        """Decode one prompt with the baseline and with LoPA, streaming.

        Yields (state, sentence): the state grows with every few rounds; `traces` holds one lane per decoder with its
        rounds in the trace format, `card` the score-card at the end. The sentence says what is wrong, if anything is.
        """
        values = (
            max_new_tokens, block_size, tau_conf, confidence, tau_add, tau_act, lookahead, confidence_floor,
            score_creation_weight, attention, temperature, seed,
        )  # fmt: skip
        for state, sentence in states(shelf, wish or Stop(), prompt, model, baseline, dict(zip(NAMES, values))):
            yield gr.skip() if state is None else state, sentence

    return compare
