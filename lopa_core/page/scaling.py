"""The tab on scaling: a recorded sweep of the embedded model, and a small one that a visitor runs here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

import gradio as gr

from ..bench.curves import curves
from ..bench.files import ReportError
from ..bench.sweep_file import read
from ..view.scaling import about, scaling_figures
from .charts import charts
from .queueing import PRIVATE, Controls, banner, begin, run_behind
from .run import Stop, states
from .shelf import Shelf
from .sweeping import LEAST, LOOKAHEADS, MOST, OVER_K, OVER_TAU, TAUS, Sweeping, start_sweep
from .widgets import NAMES, Widgets

REPORT = Path(__file__).resolve().parents[2] / "assets" / "scaling.json"
COMMAND = "python -m lopa_core sweep --task {} --limit {} --threads 1 --out assets/scaling.json"
HERE = """
<div class="lv-here"><h2>Run a small sweep here</h2>
<p>The model and all other settings are those under <em>Settings</em>; every value below is tried on the same held-out
problems. A few problems show the shape of TPF; accuracy needs more of them, as the intervals tell.</p></div>
"""
PROGRESS_HTML = '<div class="lv-progress" hidden><progress max="1" value="0" aria-label="Progress of the sweep"></progress><p></p></div>'
PROGRESS_JS = """
const box = element.querySelector('.lv-progress');
const show = () => {
  const told = props.value;
  box.hidden = !told;
  if (!told) return;
  box.querySelector('progress').value = told.share;
  box.querySelector('p').textContent = told.text;
};
show(); watch('value', show);
"""


def scaling_tab(shelf: Shelf, widgets: Widgets) -> None:
    """The whole tab. widgets: of the settings panel, whose model and settings a sweep here takes."""
    recorded = recorded_run()
    gr.HTML(HERE, apply_default_css=False)
    asked = choices()
    controls, progress = buttons()
    live = charts({}, "lv-scaling-live")
    chosen = [*asked, widgets["model"], *(widgets[name] for name in NAMES)]
    connect(shelf, recorded, chosen, [live, progress], controls)


def recorded_run() -> Mapping[str, Any] | None:
    """Draws the report that comes along, and gives it; None, and a sentence, where it cannot be read."""
    try:
        report = read(REPORT)
    except ReportError as error:
        gr.HTML(f"<p class='lv-notice'>{escape(str(error))}</p>", apply_default_css=False)
        return None
    command = COMMAND.format(report["task"], report["problems"])
    gr.HTML(
        f"<p class='lv-source'><b class='lv-badge'>Recorded</b> {escape(about(report))} Made by: <code>{escape(command)}</code></p>",
        elem_id="lv-scaling-source", apply_default_css=False,
    )  # fmt: skip
    charts(scaling_figures(curves(report)), "lv-scaling")
    return report


def choices() -> list[Any]:
    """What is asked of a sweep, in the order of `start_sweep`."""
    with gr.Row(elem_id="lv-sweep-asked"):
        over = gr.Radio(
            [("Branches k", OVER_K), ("Threshold τ", OVER_TAU)],
            value=OVER_K,
            label="Sweep over",
            info="The other one stays as in Settings.",
        )
        lookaheads = gr.CheckboxGroup(
            list(zip(map(str, LOOKAHEADS), LOOKAHEADS)),
            value=list(LOOKAHEADS),
            label="Numbers of branches",
            info="0 is confidence decoding.",
        )
        taus = gr.CheckboxGroup(
            list(zip(map(str, TAUS), TAUS)), value=list(TAUS), label="Thresholds", visible=False, info="Each with and without branches."
        )
        count = gr.Slider(LEAST, MOST, 10, step=1, label="Problems", info="The first held-out ones.")
    over.change(lambda chosen: [gr.update(visible=chosen == each) for each in (OVER_K, OVER_TAU)], over, [lookaheads, taus], **PRIVATE)
    return [over, lookaheads, taus, count]


def buttons() -> tuple[Controls, gr.HTML]:
    """Run and Stop, a sentence where something is wrong, and the line of progress."""
    with gr.Row(elem_id="lv-sweep-buttons"):
        run = gr.Button("Run", variant="primary", elem_id="lv-sweep-run", min_width=120)
        stop = gr.Button("Stop", interactive=False, elem_id="lv-sweep-stop", min_width=90)
        waiting = gr.HTML("", elem_id="lv-sweep-waiting", apply_default_css=False)
    told = banner()
    progress = gr.HTML(None, html_template=PROGRESS_HTML, js_on_load=PROGRESS_JS, elem_id="lv-sweep-progress", apply_default_css=False)
    return Controls(run, stop, waiting, told, gr.State(None)), progress


def connect(shelf: Shelf, recorded: Mapping[str, Any] | None, asked: list[Any], shown: list[Any], controls: Controls) -> None:
    def line_up(asked: tuple[Any, ...]) -> Sweeping:
        over, lookaheads, taus, count, model, *values = asked
        return start_sweep(shelf, recorded, over, lookaheads, taus, count, model, dict(zip(NAMES, values)))

    def check_sweep(*asked: Any) -> tuple[Any, ...]:
        return begin(lambda: line_up(asked))

    def live_sweep(wish: Stop, *asked: Any) -> Iterator[tuple[Any, ...]]:
        for state, sentence, _ in states(lambda: line_up(asked), wish):
            yield *(state or (gr.skip(), gr.skip())), sentence

    checked = controls.run.click(check_sweep, asked, controls.checked, **PRIVATE)
    run_behind(checked, live_sweep, [controls.wish, *asked], [*shown, controls.banner], controls)
    controls.connect_stop()
