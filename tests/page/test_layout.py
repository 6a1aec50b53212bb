"""The page as Gradio sees it: its endpoints, nothing from elsewhere, no HTML made of data."""

import ast
import re
from pathlib import Path

import gradio as gr
import pytest

from lopa_core.decode.settings import DecodeSettings
from lopa_core.model.presets import PRESETS, PUBLISHED
from lopa_core.model.source import read_source
from lopa_core.page import layout, queueing, scaling
from lopa_core.page.shelf import Shelf
from lopa_core.page.widgets import NAMES, defaults, preset_values
from lopa_core.view import files

from .samples import page_model


@pytest.fixture(scope="module")
def page():
    return layout.build(Shelf(page_model()))


def test_only_the_endpoints_for_programs_are_public(page):
    public = {each.api_name for each in page.fns.values() if each.api_visibility == "public"}
    assert public == {"compare", "decode", "status"}


def test_whatever_runs_the_model_waits_in_one_line(page):
    named = {each.api_name: each for each in page.fns.values()}
    for name in ("live_race", "other_future", "live_sweep", "compare", "decode"):
        assert (named[name].concurrency_id, named[name].concurrency_limit, named[name].queue) == ("model", 1, True)
    assert not any(each.queue for name, each in named.items() if name in ("check", "check_sweep", "status", "open_address", "ask_to_stop"))


def test_the_queue_is_as_short_as_asked():
    assert layout.build(Shelf(page_model()), max_queue=3)._queue.max_size == 3 and layout.build(Shelf(page_model()))._queue.max_size == 16


def test_every_setting_is_explained_and_starts_at_the_presets_value(page):
    forms = [each for each in page.blocks.values() if isinstance(each, gr.components.FormComponent)]
    widgets = {each.label: each for each in forms if each.label != "Prompt" and each.label[:4] != "Link"}
    assert len(widgets) == len(NAMES) + 8 and all(each.info for each in widgets.values())
    assert widgets["k, lookahead branches"].value == defaults(page_model().source)["lookahead"]
    assert defaults(read_source())["confidence_floor"] == PRESETS["lopa-tiny"].settings["confidence_floor"] > 0


def test_the_page_does_not_import_torch():
    for path in Path(layout.__file__).parent.glob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
        assert not any(name and name.split(".")[0] == "torch" for name in names), path


def test_presets_of_the_paper_make_settings_that_can_run():
    for preset in PUBLISHED:
        values = preset_values(preset, read_source())
        assert DecodeSettings(**values).slots == values["max_new_tokens"] >= 80
        assert values["confidence_floor"] == values["score_creation_weight"] == 0 and values["attention"] == "block_causal"
    assert preset_values("LoPA paper, GSM8K", read_source()) | {"lookahead": 14, "block_size": 32, "tau_conf": 0.9, "tau_add": 0.1} == (
        preset_values("LoPA paper, GSM8K", read_source())
    )


def test_the_first_sight_is_a_recording_that_says_so(page):
    (viewer,) = [each for each in page.blocks.values() if getattr(each, "elem_id", None) == "lv-viewer"]
    assert viewer.value["source"]["kind"] == "recorded" and viewer.value["card"] and viewer.value["figures"]


@pytest.mark.parametrize("text", [files.skeleton, files.css, files.script, files.template])
def test_the_viewer_loads_nothing_from_elsewhere(text):
    assert not re.search(r"https?://|//cdn|@import|url\(", text())


def test_data_reaches_the_dom_as_text_only():
    script, skeleton = files.script() + queueing.BANNER_JS + scaling.PROGRESS_JS, files.skeleton()
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", script)
    assert "${" not in skeleton and "{{" not in skeleton and "</script" not in script


def test_fonts_are_the_systems():
    assert all(type(font).__name__ != "GoogleFont" for font in layout.look()["theme"]._font + layout.look()["theme"]._font_mono)
