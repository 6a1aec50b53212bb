"""The documents' figures: all of them come out of stored results, and each command behind one runs, at a small limit, and can be shown."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from lopa_core.__main__ import parse
from lopa_core.bench.measured import document
from lopa_core.bench.measured.measurement import ASSETS, MEASURED, Measurement
from lopa_core.bench.measured.registry import DOCUMENTS, MEASUREMENTS

ROOT = Path(__file__).resolve().parents[1]
TEXTS = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in DOCUMENTS}
FIGURES_BESIDE_THE_CODE = TEXTS["lopa_core/bench/README.md"]
STORED = sorted((ASSETS / MEASURED).glob("*.json"))
MINUTES = {"page", "agreement", "agreement-d2f-llada"}  # also at their smallest: tests/bench/test_measured.py shows samples of theirs
MINE = "--model my-model"  # in an example
# commands that documents name without a figure of theirs, at a small limit
BESIDES = {"lopa_core bench-step": {"--shape": "small", "--layers": "1", "--rows": "1,2", "--window": "32", "--repeats": "1"}}


def by_hand(text: str) -> str:
    """A document without its blocks of results."""
    return re.sub(r"<!-- measured: .*?<!-- /measured -->", "", text, flags=re.DOTALL)


def commands() -> list[str]:
    """Every command that measures something and stands in a document by hand."""
    text = "\n".join(map(by_hand, TEXTS.values()))
    spans = re.findall(r"`(?:\.venv/bin/)?python -m ([^`\n]+)`", text) + re.findall(
        r"^(?:\.venv/bin/)?python -m ([^#\n]+)", text, re.MULTILINE
    )
    found = {each.strip() for each in spans} - {each.command for each in MEASUREMENTS.values()}
    return sorted(each for each in found if re.match(r"lopa_core (bench|sweep|verify)|tests\.", each) and MINE not in each)


def ran(*argv: str) -> str:
    """What a command prints."""
    told = subprocess.run(
        [sys.executable, *argv], cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=280
    )
    assert told.returncode == 0, told.stderr[-2000:]
    assert told.stdout.strip()
    return told.stdout


@pytest.mark.parametrize("name", TEXTS)
def test_a_document_is_what_the_stored_results_make_of_it(name):
    text = TEXTS[name]
    assert document.render(text, MEASUREMENTS, ASSETS) == text, "`python -m lopa_core measure --render` puts the results into it"


def test_every_part_of_a_measurement_is_in_a_document():
    parts = {(name, part) for name, each in MEASUREMENTS.items() for part in each.parts}
    assert {pair for text in TEXTS.values() for pair in document.shown(text)} == parts


def test_no_figure_stands_beside_the_results_by_hand():
    """The paper's figures are quoted in paragraphs and rows that say so."""
    lines = by_hand(FIGURES_BESIDE_THE_CODE).partition("## 8.")[0].splitlines()
    ours = [re.sub(r"`[^`]*`|\([^)]*\)", "", line) for line in lines if not line.startswith("Paper")]
    figure = re.compile(r"\d[\d.]* ?(%|×|times|ms\b|s\b|MB|KiB|points|passes|tokens/s|tokens per)|\d+\.\d+")
    assert [line for line in ours if figure.search(line.replace("the 95 % interval", ""))] == []


@pytest.mark.parametrize("each", [pytest.param(each, id=name) for name, each in MEASUREMENTS.items()])
def test_a_command_is_understood_as_it_stands(each: Measurement):
    module, *flags = shlex.split(each.command)
    if module == "lopa_core":
        parse(flags[0], flags[1:])  # ends this test where it is not
    else:
        assert (ROOT / f"{module.replace('.', '/')}.py").is_file()


def test_what_is_stored_belongs_to_a_measurement():
    paths = {each.path: each for each in MEASUREMENTS.values()}
    for file in STORED:
        about = json.loads(file.read_text(encoding="utf-8"))[MEASURED]
        assert about["command"] == paths[f"{MEASURED}/{file.name}"].typed()
        assert about["date"] and about["hardware"] and {"python", "torch", "commit"} == about["versions"].keys()


@pytest.mark.parametrize("name", [name for name in MEASUREMENTS if name not in MINUTES])
def test_a_measurement_runs_and_can_be_shown(name):
    each = MEASUREMENTS[name]
    told = json.loads(ran(*each.argv(limit=1)))
    for part in each.parts.values():
        assert re.search(r"\d", part(told))


@pytest.mark.parametrize("command", commands())
def test_a_command_of_a_document_runs(command):
    flags = next((flags for start, flags in BESIDES.items() if command.startswith(start)), {})
    words = Measurement(name="", command=command, parts={}, trial=flags).words(1)
    ran("-m", *words)


@pytest.mark.parametrize("name", TEXTS)
def test_links_inside_the_project_lead_somewhere(name):
    for target in re.findall(r"\]\((?!https?://)([^)\s]+)\)", TEXTS[name]):
        file, _, anchor = target.partition("#")
        path = (ROOT / name).parent / file if file else ROOT / name
        assert path.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}, target
