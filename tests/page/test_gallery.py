"""Recorded runs: every one shipped can be read and drawn; names and files of visitors are checked."""

import json

import pytest

from lopa_core.commands.record import RUNS
from lopa_core.page import gallery
from lopa_core.page.shelf import PageError
from lopa_core.view.state import loaded, recorded


def test_the_gallery_is_what_the_command_records():
    assert set(gallery.names()) == set(RUNS) and gallery.names()[0] == gallery.FIRST


@pytest.mark.parametrize("name", gallery.names())
def test_a_recording_is_whole_and_says_where_it_was_made(name):
    traces = gallery.recording(name)
    assert all(trace.reason == "eos" and trace.texts and trace.devices and trace.recorded for trace in traces)
    assert all(branch.seen for trace in traces for each in trace.rounds for branch in each.branches)
    state = loaded(recorded("r", traces), traces)
    assert json.loads(json.dumps(state)) == state and state["status"] == "finished"
    assert state["source"]["kind"] == "recorded" and "20" in state["source"]["text"] and traces[0].hardware in state["source"]["text"]


@pytest.mark.parametrize(
    "name", ["", "nothing", "../lopa-tiny/config", "zoo-tickets.json", "/etc/passwd", "x" * 500, "Zoo tickets", "zoo\ntickets"]
)
def test_other_names_are_one_sentence(name):
    with pytest.raises(PageError, match="There is no recording") as told:
        gallery.recording(name)
    assert "\n" not in str(told.value) and len(str(told.value)) < 300


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_a_trace_that_an_editor_saved_in_another_encoding_opens(encoding, tmp_path):
    text = (gallery.REPLAYS / f"{gallery.FIRST}.json").read_text(encoding="utf-8")
    (tmp_path / "mine.json").write_bytes(text.encode(encoding))
    assert gallery.uploaded(tmp_path / "mine.json") == gallery.recording(gallery.FIRST)


@pytest.mark.parametrize(
    "content", [b"", b"\xff\x00", b"[]", b'{"format": "lopa-trace", "version": 9}', b'{"format": "lopa-trace", "version": 2, "traces": []}']
)
def test_a_bad_upload_is_one_sentence_without_the_servers_folders(content, tmp_path):
    (tmp_path / "mine.json").write_bytes(content)
    with pytest.raises(PageError) as told:
        gallery.uploaded(tmp_path / "mine.json")
    assert str(told.value).startswith("mine.json: ") and str(tmp_path) not in str(told.value)
