"""The page as Gradio sees it: one public endpoint, nothing from elsewhere, no HTML made of data."""

import ast
import re
from pathlib import Path

import gradio as gr
import pytest

from lopa_core.model.presets import PRESETS
from lopa_core.page import layout
from lopa_core.page.widgets import NAMES, defaults

from .samples import page_model

VIEWER = layout.VIEWER


@pytest.fixture(scope="module")
def page():
    return layout.build(page_model())


def test_compare_is_the_only_public_endpoint(page):
    public = {each.api_name for each in page.fns.values() if each.api_visibility == "public"}
    assert public == {"compare"}


def test_the_endpoint_takes_every_setting_and_is_described(page):
    told = page.get_api_info()["named_endpoints"]["/compare"]
    assert [each["parameter_name"] for each in told["parameters"]] == ["prompt", "model", "baseline", *NAMES]
    assert "baseline" in told["description"] and len(told["returns"]) == 2


def test_one_race_at_a_time_and_a_short_queue(page):
    race = next(each for each in page.fns.values() if each.api_name == "compare")
    assert race.concurrency_limit in (1, "default")
    assert page._queue.max_size == 16 and page._queue.default_concurrency_limit == 1


def test_every_setting_is_explained_and_starts_at_the_presets_value(page):
    forms = [each for each in page.blocks.values() if isinstance(each, gr.components.FormComponent)]
    widgets = {each.label: each for each in forms if each.label != "Prompt"}
    assert len(widgets) == len(NAMES) + 2 and all(each.info for each in widgets.values())
    assert widgets["k, lookahead branches"].value == defaults("dream-a")["lookahead"]
    assert defaults("lopa-tiny")["confidence_floor"] == PRESETS["lopa-tiny"].settings["confidence_floor"] > 0


def test_the_page_does_not_import_torch():
    for path in Path(layout.__file__).parent.glob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
        assert not any(name and name.split(".")[0] == "torch" for name in names), path


@pytest.mark.parametrize("name", ["viewer.html", "viewer.css", "viewer.js"])
def test_the_viewer_loads_nothing_from_elsewhere(name):
    text = (VIEWER / name).read_text(encoding="utf-8")
    assert not re.search(r"https?://|//cdn|@import|url\(", text)


def test_data_reaches_the_dom_as_text_only():
    script, skeleton = ((VIEWER / name).read_text(encoding="utf-8") for name in ("viewer.js", "viewer.html"))
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script + layout.BANNER_JS)
    assert "${" not in skeleton and "{{" not in skeleton


def test_fonts_are_the_systems():
    assert all(type(font).__name__ != "GoogleFont" for font in layout.look()["theme"]._font + layout.look()["theme"]._font_mono)
