"""`models`: what the table and the JSON say of the catalogue, on machines with and without a GPU."""

import json
import re

import pytest

from lopa_core.__main__ import main
from lopa_core.commands import models
from lopa_core.commands.models import Place
from lopa_core.model.presets import CATALOGUE
from lopa_core.model.size import in_words, needed

GIGABYTE = 10**9
SMALL, LAPTOP, LARGE = (Place("cpu", "CPU", size * GIGABYTE) for size in (1, 25, 200))
GPU = Place("gpu", "GPU", 140 * GIGABYTE)


@pytest.fixture
def machine(monkeypatch):
    def be(*places):
        monkeypatch.setattr(models, "places", lambda: list(places))

    return be


def table(capsys) -> list[list[str]]:
    """The cells of every row, the header's first."""
    assert main(["models"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("|---")]


def called(capsys) -> dict:
    assert main(["models", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_model_has_a_row(capsys):
    header, *rows = table(capsys)
    assert header[:5] == ["key", "model", "parameters", "memory bf16 / fp32", "here"] and header[-1] == "not verified"
    assert [row[0] for row in rows] == list(CATALOGUE) and {len(row) for row in rows} == {len(header)}
    tiny = rows[0]
    assert tiny[2] == "4.8M" and tiny[4].startswith("yes") and tiny[5] == "Apache-2.0" and tiny[-1] == ""


def test_every_mark_is_explained(capsys):
    main(["models"])
    out = capsys.readouterr().out
    told = dict(re.findall(r"^(\d+)\. (.+)$", out, re.MULTILINE))
    for line in out.splitlines():
        if line.startswith("| ") and (preset := CATALOGUE.get(line.split("|")[1].strip())):
            numbers = line.rstrip("| ").rpartition("|")[2].split() if preset.unverified else []
            assert tuple(told[number] for number in numbers) == preset.unverified


def test_json_holds_the_whole_catalogue(capsys, machine):
    machine(LAPTOP)
    got = called(capsys)
    assert got["hardware"] == [{"kind": "cpu", "name": "CPU", "free": 25 * GIGABYTE}]
    for row in got["models"]:
        preset = CATALOGUE[row["key"]]
        assert (row["hub"], row["adapter"], row["settings"], tuple(row["unverified"])) == (
            preset.hub,
            preset.adapter,
            preset.settings,
            preset.unverified,
        )
        assert 0 < row["memory"]["bfloat16"] < row["memory"]["float32"]
        assert row["runs"].keys() == {"on", "dtype", "words"}


@pytest.mark.parametrize(
    ("places", "key", "words"),
    [
        ([LAPTOP], "lopa-tiny", "yes on CPU"),
        ([SMALL], "lopa-tiny", "yes on CPU"),
        ([LAPTOP], "qwen3-mdlm", "yes on CPU, slow"),
        ([LARGE], "dream-instruct", "yes on CPU, slow"),
        ([GPU, LAPTOP], "dream-instruct", "yes on GPU"),
        ([GPU, LAPTOP], "lopa-tiny", "yes on GPU"),
        ([Place("gpu", "small", 2 * GIGABYTE), LARGE], "dream-instruct", "yes on CPU, slow"),
        ([Place("gpu", "small", 2 * GIGABYTE), GPU, SMALL], "llada", "yes on GPU"),
    ],
)
def test_where_a_model_runs(capsys, machine, places, key, words):
    machine(*places)
    rows = {row[0]: row for row in table(capsys)}
    assert rows[key][4] == words


def test_what_does_not_fit_says_what_is_needed_and_there(capsys, machine):
    machine(Place("gpu", "small", 2 * GIGABYTE), SMALL)
    rows = {row[0]: row for row in table(capsys)}
    size = CATALOGUE["llada"].parameters
    wanted = in_words(needed(size, models.torch.bfloat16))
    assert rows["llada"][4] == f"no: needs {wanted}, has 2.0 GB"
    told = next(row for row in called(capsys)["models"] if row["key"] == "llada")
    assert (told["runs"]["on"], told["runs"]["dtype"]) == (None, None)


def test_the_precision_is_the_widest_a_cpu_has_room_for(capsys, machine):
    machine(LAPTOP)
    runs = {row["key"]: row["runs"]["dtype"] for row in called(capsys)["models"]}
    assert (runs["lopa-tiny"], runs["dream-instruct"]) == ("float32", "bfloat16")


def test_this_machine_s_places_are_real():
    found = models.places()
    assert found[-1].kind == "cpu" and found[-1].free > 0 and found[-1].name.startswith("CPU")


def test_the_command_needs_no_argument_and_takes_no_other(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["models", "dream"])
    assert stop.value.code == 2 and len(capsys.readouterr().err.strip().splitlines()) == 1
