"""Trace files: what is written is read back, and everything else is refused in a sentence."""

import json

import pytest

from lopa_core.trace import files
from lopa_core.trace.files import TraceError

from ..helpers.traces import recorded, written


def damaged(change) -> str:
    raw = json.loads(files.dumps([written((5, 6, 7, 8))]))
    change(raw)
    return json.dumps(raw)


def test_round_trip(tmp_path):
    traces = (recorded(), written((5, 6, 7, 8)))
    files.save(traces, tmp_path / "trace.json")
    assert files.read(tmp_path / "trace.json") == traces


def test_text_of_any_script_survives(tmp_path):
    raw = json.loads(files.dumps([written((5, 6, 7, 8))]))
    raw["traces"][0]["prompt"] = "שלום <img src=x onerror=alert(1)> 🦜"
    assert files.loads(json.dumps(raw))[0].prompt == raw["traces"][0]["prompt"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda raw: raw.update(format="other"), "not a trace"),
        (lambda raw: raw.update(version=99), "version 99"),
        (lambda raw: raw.update(traces=[]), "no trace"),
        (lambda raw: raw["traces"][0].pop("tokens"), "tokens"),
        (lambda raw: raw["traces"][0].update(tokens=["x"]), "tokens"),
        (lambda raw: raw["traces"][0]["rounds"][0].update(winner=7), "winner"),
        (lambda raw: raw["traces"][0]["rounds"][0].update(slots=[0]), "Round 0"),
        (lambda raw: raw["traces"][0]["rounds"][1].update(filled=[5]), "Round 1"),
        (lambda raw: raw["traces"][0]["rounds"][0].update(slots=[-1, 1, 2, 3]), "outside the canvas"),
        (lambda raw: raw["traces"][0]["rounds"][0].update(seconds="soon"), "seconds"),
    ],
)
def test_a_damaged_trace_is_named(change, words):
    with pytest.raises(TraceError, match=words):
        files.loads(damaged(change))


@pytest.mark.parametrize("text", ["", "[]", "{", "null", b"\xff\xfe", "[" * 100_000])
def test_what_is_no_trace_is_refused(text):
    with pytest.raises(TraceError):
        files.loads(text)


def test_a_huge_file_is_not_even_read(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LARGEST_FILE", 10)
    (tmp_path / "trace.json").write_text("x" * 11)
    with pytest.raises(TraceError, match="larger"):
        files.read(tmp_path / "trace.json")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(TraceError, match="nowhere"):
        files.read(tmp_path / "nowhere.json")
