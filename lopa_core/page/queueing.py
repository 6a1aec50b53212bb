"""The order of events around whatever runs the model: it is checked, waits in the one line, runs, and gives its buttons back.

Each run has a `Stop` of its own, a visitor's, which the stop button sets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gradio as gr

from ..decode.settings import SettingsError
from ..model.errors import ModelError
from .api import QUEUE
from .run import Stop
from .shelf import PageError
from .words import plain

PRIVATE = {"api_visibility": "private", "queue": False, "show_progress": "hidden"}
LINKED = {"api_visibility": "private", "concurrency_id": QUEUE, "concurrency_limit": 1}

# the sentence may quote what a visitor typed: it is set as text, never as HTML
BANNER_JS = """
const banner = element.querySelector('.lv-banner');
const show = () => { banner.textContent = props.value || ''; banner.hidden = !props.value; };
show(); watch('value', show);
"""


@dataclass(frozen=True, slots=True)
class Controls:
    """What every run has on the page. waiting: where the place in the line is told; wish: the run's `Stop`."""

    run: gr.Button
    stop: gr.Button
    waiting: gr.HTML
    banner: gr.HTML
    wish: gr.State

    @property
    def checked(self) -> list[Any]:
        """What `begin` gives."""
        return [self.wish, self.run, self.stop, self.banner]

    def connect_stop(self) -> None:
        self.stop.click(ask_to_stop, self.wish, self.stop, **PRIVATE)


def banner() -> gr.HTML:
    """Where a sentence is told about a run; hidden while there is none."""
    line = '<p class="lv-banner" role="alert" hidden></p>'
    return gr.HTML("", html_template=line, js_on_load=BANNER_JS, elem_classes="lv-told", apply_default_css=False)


def run_behind(checked: Any, run: Callable[..., Any], inputs: list[Any], outputs: list[Any], controls: Controls) -> None:
    """Queue `run` if the check found nothing, and give the buttons back at its end."""
    # in a line of its own, where nobody waits: outside of the queue the refusal would be an HTTP error in the console
    passed = checked.then(gate, controls.wish, None, api_visibility="private", concurrency_limit=None, show_progress="hidden")
    ran = passed.success(run, inputs, outputs, show_progress_on=controls.waiting, show_progress="minimal", **LINKED)
    ran.then(end, None, [controls.run, controls.stop], **PRIVATE)


def begin(line_up: Callable[[], Any]) -> tuple[Any, ...]:
    """(wish, run, stop, banner): a wish where the run can begin, else None and the sentence why not."""
    try:
        line_up()
    except (PageError, SettingsError, ModelError) as error:
        return None, gr.skip(), gr.skip(), plain(str(error))
    return Stop(), gr.update(value="Running…", interactive=False), gr.update(interactive=True), ""


def gate(wish: Stop | None) -> None:
    if wish is None:
        raise gr.Error("said in the banner already", visible=False, print_exception=False)


def end() -> tuple[Any, Any]:
    return gr.update(value="Run", interactive=True), gr.update(value="Stop", interactive=False)


def ask_to_stop(wish: Stop | None) -> Any:
    if wish:
        wish.wanted = True
    return gr.update(interactive=False)
