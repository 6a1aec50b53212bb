"""What the page runs on, kept up to date: state, devices, memory. Asked of the workers themselves, not assumed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr

from .shelf import Shelf

EVERY = 5.0  # seconds
ASKING = {"works": True, "state": "…", "lines": []}
# names of devices reach the DOM as text
SYSTEM_JS = """
const draw = () => {
  const told = props.value || { state: '', lines: [] };
  element.querySelector('.lv-state').textContent = told.state;
  element.querySelector('.lv-state').dataset.works = told.works;
  element.querySelector('ul').replaceChildren(...told.lines.map((line) => {
    const item = document.createElement('li');
    item.textContent = line;
    return item;
  }));
};
draw(); watch('value', draw);
"""
SYSTEM_HTML = '<h3 class="lv-group">Running on</h3><p class="lv-state" role="status"></p><ul class="lv-devices"></ul>'


NOTICE_JS = """
const line = element.querySelector('.lv-notice');
const show = () => { line.textContent = props.value || ''; line.hidden = !props.value; };
show(); watch('value', show);
"""


def system_panel() -> gr.HTML:
    return gr.HTML(ASKING, html_template=SYSTEM_HTML, js_on_load=SYSTEM_JS, elem_id="lv-system", apply_default_css=False)


def notice(shelf: Shelf) -> gr.HTML:
    """A line above the prompt on the model that is still on its way."""
    line = '<p class="lv-notice" role="status" hidden></p>'
    return gr.HTML(shelf.notice(), html_template=line, js_on_load=NOTICE_JS, elem_id="lv-coming", apply_default_css=False)


def keep_up(shelf: Shelf, panel: gr.HTML, line: gr.HTML, model: gr.Dropdown) -> None:
    """Renew panel and line by a timer; a visitor's menu goes over to a model as it comes, if it stood on the one instead."""
    quiet = {"api_visibility": "private", "queue": False, "show_progress": "hidden"}
    tell, met = teller(shelf), gr.State(None)  # the model that was there at first sight

    def renew(met: str | None, chosen: str) -> tuple[Any, ...]:
        over = gr.update(value=shelf.first) if met == chosen != shelf.first else gr.skip()
        return tell(), shelf.notice(), over, shelf.first

    told = {"inputs": [met, model], "outputs": [panel, line, model, met], **quiet}
    gr.on(None, renew, **told)  # at first sight
    gr.Timer(EVERY).tick(renew, **told)


def teller(shelf: Shelf) -> Callable[[], dict[str, Any]]:
    def system() -> dict[str, Any]:
        """Health of the main model in words."""
        health = shelf.health()
        return {"works": health["state"] in ("ready", "degraded"), "state": state(health), "lines": [*map(line, health["workers"])]}

    return system


def state(health: dict[str, Any]) -> str:
    """Such as "ready, float32, 4 workers"."""
    count = len(health["workers"])
    parts = [health["state"], health["dtype"], f"{count} workers, branches spread over them" if "ranks" in health else "in this process"]
    reason = f" ({health['reason']})" if health.get("reason") else ""
    return ", ".join(part for part in parts if part) + reason


def line(worker: dict[str, Any]) -> str:
    """A worker's device and memory."""
    name = f"rank {worker['rank']}: {worker['device']}" if "rank" in worker else worker["device"]
    if not worker["answers"]:
        return f"{name}, {worker['at']}, does not answer"
    return f"{name}, {gigabytes(worker['memory']['used'])} of {gigabytes(worker['memory']['total'])} GB"


def gigabytes(count: int) -> str:
    return f"{count / 2**30:.1f}"
