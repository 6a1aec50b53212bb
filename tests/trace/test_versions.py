"""Files of older versions are still read, and what they did not record is known to be missing."""

import json
from pathlib import Path

import pytest

from lopa_core.trace import files
from lopa_core.trace.check import TraceError
from lopa_core.trace.metrics import measure

from ..helpers.traces import recorded

OLD = Path(__file__).parent / "files" / "version1.json"  # written by the last program of version 1


def test_version_1_is_read():
    baseline, lopa = files.read(OLD)
    assert (baseline.decoder, lopa.decoder) == ("confidence", "lopa")
    raw = json.loads(OLD.read_text())["traces"][1]
    assert [list(each.best.seen.slots) for each in lopa.rounds] == [each["slots"] for each in raw["rounds"]]
    assert measure(lopa).branch_forwards == sum(len(each["branches"]) for each in raw["rounds"])
    assert lopa.text == raw["text"] and lopa.devices == (raw["hardware"],)


def test_what_version_1_did_not_record_is_missing():
    lopa = files.read(OLD)[1]
    losers = [branch for each in lopa.rounds for index, branch in enumerate(each.branches) if index != each.winner]
    assert losers and all(branch.seen is None for branch in losers)
    assert not any(each.spans for each in lopa.rounds) and lopa.texts == ()


def test_what_was_read_is_written_in_the_newest_version():
    old = files.read(OLD)
    assert files.loads(files.dumps(old)) == old
    assert json.loads(files.dumps(old))["version"] == 3


def test_version_2_is_read():
    """It had no drafts, no copies, and nothing was ever taken back."""
    wanted = (recorded(),)
    raw = json.loads(files.dumps(wanted)) | {"version": 2}
    (raw["traces"][0]["eos_id"],) = raw["traces"][0].pop("end_ids")
    for each in raw["traces"][0]["rounds"]:
        del each["taken"], each["copies"]
        for branch in each["branches"]:
            del branch["more"]
    assert files.loads(json.dumps(raw)) == wanted


@pytest.mark.parametrize(
    "change",
    [
        lambda trace: trace.pop("rounds"),
        lambda trace: trace.pop("eos_id"),
        lambda trace: trace.update(rounds=3),
        lambda trace: trace.update(rounds=[[]]),
        lambda trace: trace["rounds"][0].pop("slots"),
        lambda trace: trace["rounds"][0].update(branches={}),
        lambda trace: trace["rounds"][0].update(winner=9),
        lambda trace: trace["rounds"][0].update(tokens=["a"]),
    ],
)
def test_a_damaged_file_of_version_1_is_one_sentence(change):
    raw = json.loads(OLD.read_text())
    change(raw["traces"][0])
    with pytest.raises(TraceError) as told:
        files.loads(json.dumps(raw))
    assert str(told.value).endswith(".") and "\n" not in str(told.value)


@pytest.mark.parametrize("traces", [None, 5, {"a": 1}, "text", [None], [[1]]])
def test_traces_of_another_kind_are_one_sentence(traces):
    with pytest.raises(TraceError, match="damaged"):
        files.loads(json.dumps({"format": "lopa-trace", "version": 1, "traces": traces}))
