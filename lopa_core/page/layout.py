"""The page: components from top to bottom, and which event runs what. No decoding, no drawing.

Each visitor's run belongs to that visitor: the only thing shared is the shelf of loaded models.
"""

from __future__ import annotations

import json
from typing import Any

import gradio as gr

from ..tasks.examples import EXAMPLES, known
from ..trace.trace import Trace
from ..view import files
from ..view.replay import LEAD
from ..view.state import loaded, recorded
from . import gallery
from .api import ALLOWANCE, Allowance, publish
from .decoders import decoders_tab
from .events import Page, connect
from .queueing import banner
from .scaling import scaling_tab
from .shelf import Shelf
from .system import keep_up, notice
from .widgets import settings_panel

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


def look() -> dict[str, Any]:
    """What `launch` needs for the looks: theme and style sheet."""
    theme = gr.themes.Base(primary_hue="slate", neutral_hue="slate", radius_size="md", font=SANS, font_mono=MONO)
    return {"theme": theme, "css_paths": [files.VIEWER / "viewer.css"]}


def build(shelf: Shelf, *, max_queue: int = 16, allowance: Allowance = ALLOWANCE) -> gr.Blocks:
    """The page for the models of `shelf`, ready to be launched with `look()`.

    max_queue: visitors that may wait for a run. allowance: what one call of the endpoints may ask.
    """
    gr.set_static_paths([files.PLOTLY])
    with gr.Blocks(title="LoPA Side by Side", analytics_enabled=False, fill_width=True) as page:
        widgets, panel = settings_panel(shelf)
        gr.HTML(HEADER, apply_default_css=False)
        with gr.Tabs(elem_id="lv-tabs") as tabs:
            with gr.Tab("Race", id="race"):
                coming = notice(shelf)
                asked, shown = ask(), race(shelf)
            with gr.Tab("Decoders", id="decoders"):
                cards = decoders_tab()
            with gr.Tab("Scaling", id="scaling"):
                scaling_tab(shelf, widgets)
        connect(page, shelf, Page(*asked, *shown, widgets, tabs, cards))
        keep_up(shelf, panel, coming, widgets["model"])
        publish(shelf, allowance)
    page.queue(default_concurrency_limit=1, max_size=max_queue)
    return page


def ask() -> tuple[Any, ...]:
    """The prompt and everything that is asked with it: the parts of Page up to its upload button."""
    with gr.Column(elem_id="lv-ask"):
        prompt = gr.Textbox(next(iter(EXAMPLES.values())).question, label="Prompt", lines=2, max_lines=8, elem_id="lv-prompt")
        with gr.Row(elem_id="lv-chips"):
            example_chips(prompt)
        with gr.Row(elem_id="lv-buttons"):
            run = gr.Button("Run", variant="primary", elem_id="lv-run", min_width=120)
            stop = gr.Button("Stop", interactive=False, elem_id="lv-stop", min_width=90)
            share = gr.Button("Share link", elem_id="lv-share", min_width=90)
            waiting = gr.HTML("", elem_id="lv-waiting", apply_default_css=False)
        link = gr.Textbox(visible=False, label="Link to this prompt and these settings", buttons=["copy"], elem_id="lv-link")
        told = banner()
        chips, upload = recordings()
    return prompt, run, stop, share, link, waiting, told, chips, upload


def race(shelf: Shelf) -> tuple[gr.HTML, gr.State]:
    """The viewer and the traces it shows."""
    first = first_sight()
    viewer = gr.HTML(
        loaded(recorded("first", first, shelf.cannot(first[0].model)), first, known(first[0].prompt)),
        html_template=files.skeleton(), js_on_load=files.script(), elem_id="lv-viewer", apply_default_css=False,
        plotly_url=f"gradio_api/file={files.PLOTLY}",
        replay={"page": files.template(), "lead": LEAD, "css": files.css(), "js": files.script(), "skeleton": files.skeleton()},
    )  # fmt: skip
    return viewer, gr.State(list(first))


def first_sight() -> tuple[Trace, ...]:
    """What is on screen before anything was run."""
    return gallery.recording(gallery.FIRST)


def example_chips(prompt: gr.Textbox) -> None:
    """A button per example; it fills the prompt in the browser, without a round trip."""
    gr.HTML("<span class='lv-chips-label'>Try</span>", apply_default_css=False)
    for title, each in EXAMPLES.items():
        chip = gr.Button(title, size="sm", elem_classes="lv-chip", min_width=0)
        chip.click(fn=None, js=f"() => {json.dumps(each.question)}", outputs=prompt, api_visibility="private")


def recordings() -> tuple[dict[str, gr.Button], gr.UploadButton]:
    """A button per recording, and one that opens a trace file."""
    with gr.Row(elem_id="lv-recordings"):
        gr.HTML("<span class='lv-chips-label'>Watch a recording</span>", apply_default_css=False)
        chips = {name: gr.Button(gallery.title(name), size="sm", elem_classes="lv-chip", min_width=0) for name in gallery.names()}
        upload = gr.UploadButton("Open a trace…", file_types=[".json"], size="sm", elem_classes="lv-chip", min_width=0)
    return chips, upload
