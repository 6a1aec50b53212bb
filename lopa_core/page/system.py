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


def system_panel(shelf: Shelf) -> None:
    """The panel and the timer that renews it."""
    told = teller(shelf)
    panel = gr.HTML(ASKING, html_template=SYSTEM_HTML, js_on_load=SYSTEM_JS, elem_id="lv-system", apply_default_css=False)
    quiet = {"api_visibility": "private", "queue": False, "show_progress": "hidden"}
    gr.on(None, told, None, panel, **quiet)  # at first sight
    gr.Timer(EVERY).tick(told, None, panel, **quiet)


def teller(shelf: Shelf) -> Callable[[], dict[str, Any]]:
    def system() -> dict[str, Any]:
        """Health of the first model in words."""
        health = shelf.opened[shelf.first].health()
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
