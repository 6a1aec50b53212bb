"""Figures without a race on the page: drawn by the viewer's own script, in a viewer of their own."""

from __future__ import annotations

import re

import gradio as gr

from ..view import files
from ..view.figure import Figure
from ..view.replay import figures_state


def charts(figures: dict[str, Figure], elem_id: str) -> gr.HTML:
    """elem_id: of the viewer, and in front of the ids inside it, of which a page may have one each. Its value: `figures_state`."""
    return gr.HTML(
        figures_state(figures), html_template=re.sub(r'\b(id|aria-labelledby)="lv-', rf'\1="{elem_id}-', files.skeleton()),
        js_on_load=files.script(), elem_id=elem_id, apply_default_css=False, plotly_url=f"gradio_api/file={files.PLOTLY}", replay=None,
    )  # fmt: skip
