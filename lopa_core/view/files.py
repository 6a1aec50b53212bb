"""The viewer's own files: style sheet, skeleton, script, template of a replay, and Plotly's script."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import plotly

VIEWER = Path(__file__).resolve().parents[2] / "assets" / "viewer"
PLOTLY = Path(plotly.__file__).resolve().parent / "package_data" / "plotly.min.js"


@cache
def skeleton() -> str:
    return (VIEWER / "viewer.html").read_text(encoding="utf-8")


@cache
def css() -> str:
    return (VIEWER / "viewer.css").read_text(encoding="utf-8")


@cache
def script() -> str:
    """The script's parts in order, as one function body."""
    return "\n".join(part.read_text(encoding="utf-8") for part in sorted((VIEWER / "js").glob("*.js")))


@cache
def template() -> str:
    """The page of a replay with its {{placeholders}}."""
    return (VIEWER / "replay.html").read_text(encoding="utf-8")
