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
    raw["traces"][0]["prompt"] = "שלום \u202e <img src=x onerror=alert(1)> 🦜"
    assert files.loads(json.dumps(raw))[0].prompt == raw["traces"][0]["prompt"]


def branch(raw, round_, index):
    return raw["traces"][0]["rounds"][round_]["branches"][index]


def in_round(round_, **fields):
    return lambda raw: raw["traces"][0]["rounds"][round_].update(fields)


def in_branch(round_, index, **fields):
    return lambda raw: branch(raw, round_, index).update(fields)


def in_seen(round_, index, **fields):
    return lambda raw: branch(raw, round_, index)["seen"].update(fields)


def in_trace(**fields):
    return lambda raw: raw["traces"][0].update(fields)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda raw: raw.update(format="other"), "not a trace"),
        (lambda raw: raw.update(version=99), "version 99"),
        (lambda raw: raw.update(version="2"), "version 2; this program reads"),
        (lambda raw: raw.update(traces=[]), "holds 0 traces"),
        (lambda raw: raw.update(traces=raw["traces"] * 9), "holds 9 traces"),
        (lambda raw: raw["traces"][0].pop("tokens"), "tokens"),
        (in_trace(tokens=["x"]), "tokens"),
        (in_trace(tokens=[]), "Round 0 writes slot 0"),
        (in_trace(tokens=[5] * 5000), "5000 tokens in 4 slots"),
        (in_trace(forced=[[0, 999]]), "forced"),
        (in_trace(settings={"block_size": 4}), "max_new_tokens"),
        (in_trace(settings={"block_size": 4, "max_new_tokens": 2}), "max_new_tokens"),
        (in_trace(tokens=[5, 6, 7, 2**40]), "token id"),
        (in_trace(texts=["a"]), "4 tokens but 1 texts"),
        (in_trace(prompt="x" * 100_001), "100001 characters"),
        (in_trace(prompt="\ud800"), "half a character"),
        (in_trace(pieces={"5": "x" * 1000}), "1000 characters"),
        (in_trace(decoder="x" * 301), "301 characters"),
        (in_trace(settings={}), "block_size"),
        (in_trace(settings={"block_size": 10**9}), "block_size"),
        (in_trace(settings={"block_size": True}), "block_size"),
        (in_trace(settings={"block_size": 4, "max_new_tokens": 4, "deep": [[[]]]}), "plain values"),
        (in_round(0, winner=7), "winner"),
        (in_round(1, filled=[5]), "Round 1"),
        (in_round(0, seconds="soon"), "seconds"),
        (in_round(0, seconds=1e30), "not finite"),
        (in_round(0, seconds=2.0), "backwards"),
        (in_round(0, branches=[]), "0 branches"),
        (in_round(0, spans=[{"device": 3, "rows": [0], "start": 0, "end": 1}]), "a device"),
        (in_round(0, spans=[{"device": 0, "rows": [9], "start": 0, "end": 1}]), "a row"),
        (in_seen(0, 0, slots=[0]), "Round 0"),
        (in_seen(0, 0, slots=[-1, 1, 2, 3]), "outside the canvas"),
        (in_seen(0, 0, slots=[1, 1, 2, 3]), "writes slot"),
        (in_branch(0, 0, masks_left=3), "masks left"),
        (in_branch(0, 0, seen=None), "did not look at"),
        (in_branch(1, 0, token=None), "without a slot"),
        (in_branch(1, 0, slot=99), "outside the canvas"),
        (in_branch(1, 0, token=6), "writes slot 2"),
    ],
)
def test_a_damaged_trace_is_named(change, words):
    with pytest.raises(TraceError, match=words) as told:
        files.loads(damaged(change))
    sentence = str(told.value)
    assert sentence.endswith(".") and "\n" not in sentence and len(sentence) < 300


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_json_does_not_have_are_refused(number):
    text = files.dumps([written((5, 6, 7, 8))]).replace('"score":-0.5', f'"score":{number}')
    assert number in text
    with pytest.raises(TraceError):
        files.loads(text)


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
