"""What a command ends with where a file cannot be written: the results, then a sentence that names the file, and exit code 2."""

import json
from functools import partial
from itertools import count

import pytest

from lopa_core.bench import accuracy, sweep
from lopa_core.commands import evaluate as evaluate_command
from lopa_core.commands import options
from lopa_core.commands.output import deliver
from lopa_core.io.writing import WriteError, write_text

from ..evaluation import questions
from ..helpers.disks import small_disk
from .test_cli import DREAM, IDS, SHORT, call

SMALL = ["--limit", "1", "--max-new-tokens", "16", "--block-size", "16"]


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path / "disk") as disk:
        yield disk


def filling(disk, work):
    """`work`, with the disk full before it ends."""

    def worked(*args, **options):
        disk.fill()
        return work(*args, **options)

    return worked


@pytest.fixture
def asked(tmp_path):
    return questions.write(tmp_path / "questions.jsonl", questions.GSM8K[:1])


def commands(asked):
    """name: (arguments without the file, the flag of the file, the function during which the disk becomes full)."""
    return {
        "decode": (["decode", *DREAM, *IDS, *SHORT], "--trace", (options, "read_model")),
        "compare": (["compare", *DREAM, *IDS, *SHORT], "--html", (options, "read_model")),
        "bench": (["bench", "--decoders", "lopa", *SMALL], "--out", (accuracy, "run")),
        "sweep": (["sweep", "--over", "k", "--lookaheads", "0,1", *SMALL], "--out", (sweep, "steps")),
        "sweep figure": (["sweep", "--over", "k", "--lookaheads", "0,1", *SMALL], "--figure", (sweep, "steps")),
        "evaluate": (
            ["evaluate", "--task", "gsm8k", "--shots", "0", "--data", asked, *SMALL], "--out", (evaluate_command, "evaluate"),
        ),
    }  # fmt: skip


NAMES = tuple(commands(None))


@pytest.mark.parametrize("name", NAMES)
def test_results_are_printed_and_the_old_file_stays(capsys, monkeypatch, disk, asked, name):
    argv, flag, (module, work) = commands(asked)[name]
    path = disk.folder / "tau-0.9.html"
    path.write_text("good")
    monkeypatch.setattr(module, work, filling(disk, getattr(module, work)))
    code, out, err = call(capsys, *argv, flag, path)
    assert code == 2 and f"{path} cannot be written: " in err.splitlines()[-1] and "Traceback" not in err
    assert "TPF" in out or "per pass" in out
    assert path.read_text() == "good" and disk.names() <= {path.name, f"{path.name}.samples.jsonl"}


@pytest.mark.parametrize("name", NAMES)
def test_a_full_disk_is_told_before_the_work(capsys, monkeypatch, disk, asked, name):
    argv, flag, _ = commands(asked)[name]
    monkeypatch.setattr(options, "read_model", partial(pytest.fail, "a model was loaded for nothing"))
    disk.fill()
    path = disk.folder / "new.html"
    code, out, err = call(capsys, *argv, flag, path)
    assert (code, out) == (2, "") and len(err.splitlines()) == 1 and f"lopa_core: {path} cannot be written" in err


def test_a_sweep_saves_again_once_there_is_room(capsys, caplog, monkeypatch, disk):
    path, report_of, times = disk.folder / "sweep.json", sweep.Sweep.report, count()

    def report(self):
        disk.make_room() if next(times) else disk.fill()
        return report_of(self)

    monkeypatch.setattr(sweep.Sweep, "report", report)
    assert call(capsys, "sweep", "--over", "k", "--lookaheads", "0,1", *SMALL, "--out", path)[0] == 0
    assert f"{path} cannot be written" in caplog.text and "the next point is saved with all before it" in caplog.text
    assert len(json.loads(path.read_text())["points"]) == 2


def test_reports_whose_names_differ_behind_a_dot_stand_beside_each_other(capsys, asked, tmp_path):
    for name, tau in (("tau-0.9", "0.9"), ("tau-0.95", "0.95")):
        flags = ["--task", "gsm8k", "--shots", "0", "--data", asked, *SMALL, "--tau-conf", tau]
        assert call(capsys, "evaluate", *flags, "--out", tmp_path / name)[0] == 0
        assert json.loads((tmp_path / name).read_text())["settings"]["tau_conf"] == float(tau)
    made = {path.name for path in tmp_path.iterdir()} - {"questions.jsonl"}
    assert made == {"tau-0.9", "tau-0.9.samples.jsonl", "tau-0.95", "tau-0.95.samples.jsonl"}


def test_one_file_for_two_things_is_refused(capsys, tmp_path):
    code, out, err = call(capsys, "decode", *DREAM, *IDS, *SHORT, "--trace", tmp_path / "a", "--html", tmp_path / "a")
    assert (code, out) == (2, "") and "cannot be written twice" in err and not (tmp_path / "a").exists()


@pytest.mark.parametrize("flag", ["--trace", "--html"])
def test_an_empty_name_is_no_file(capsys, flag):
    code, out, err = call(capsys, "decode", *DREAM, *IDS, *SHORT, flag, "")
    assert (code, out) == (2, "") and "cannot be written: it is a folder" in err


def test_every_file_is_tried_and_named(capsys, tmp_path):
    save = partial(write_text, text="new")
    with pytest.raises(WriteError) as told:
        deliver(lambda: print("shown"), (tmp_path / "no" / "a", save), (None, save), (tmp_path / "b", save), (tmp_path, save))
    assert capsys.readouterr().out == "shown\n" and (tmp_path / "b").read_text() == "new"
    assert f"{tmp_path}/no/a cannot" in str(told.value) and f"{tmp_path} cannot be written: it is a folder" in str(told.value)


def test_an_answer_that_ends_at_once_is_an_empty_text(capsys):
    """The embedded model ends at once where it is not asked anything."""
    flags = ["--prompt", "hi", "--max-new-tokens", "16", "--block-size", "16"]
    code, out, _ = call(capsys, "compare", *flags, "--json")
    assert code == 0 and [(row["text"].strip(), row["tokens"]) for row in json.loads(out)["results"]] == [("", 1)] * 2
    _, out, _ = call(capsys, "compare", *flags)
    assert [line.strip() for line in out.splitlines() if line.startswith(("confidence:", "lopa:"))] == ["confidence:", "lopa:"]
