"""Files on a full disk, and in places of every kind: the old one stays until the new one is whole."""

import json
import os
import stat
import threading
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch

from lopa_core.bench import files as reports
from lopa_core.commands.decode import write_html
from lopa_core.commands.sweep import write_figure
from lopa_core.evaluation import run as evaluation
from lopa_core.evaluation.journal import Answer, Journal, Request
from lopa_core.evaluation.scores import Scores
from lopa_core.io import writing
from lopa_core.io.writing import WriteError
from lopa_core.model.checkpoint import export, load
from lopa_core.trace import files as traces

from ..bench.samples import report
from ..evaluation.writers import METRICS
from ..helpers.disks import small_disk
from ..helpers.models import MODELS
from ..helpers.traces import recorded

LONG = {"text": "x" * 20_000}


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path / "disk") as disk:
        yield disk


def scores():
    return Scores(answers=[], right={}, solutions=[{"task_id": "a", "solution": "x" * 20_000}])


WRITERS = {
    "report": partial(reports.save, LONG),
    "trace": lambda path: traces.save([recorded()], path),
    "replay": lambda path: write_html(path, [recorded()]),
    "figure": lambda path: write_figure(report(), path),
    "evaluation": lambda path: evaluation.save(LONG, scores(), path),
    "solutions": lambda path: evaluation.save_solutions(scores(), path),
    "tensors": lambda path: writing.write_tensors(path, {"a": torch.zeros(20_000)}, {}),
}


@pytest.mark.parametrize("left", [0, 4096])
@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_the_old_file_and_names_it(disk, name, left):
    path = disk.folder / "good"
    path.write_text("good")
    disk.fill(left)
    with pytest.raises(WriteError, match=rf"^{path} cannot be written: [^.]+\.$") as told:
        WRITERS[name](path)
    assert not disk.mounted or "the disk is full" in str(told.value)
    assert path.read_text() == "good" and disk.names() == {"good"}
    with pytest.raises(WriteError):
        WRITERS[name](disk.folder / "new")
    assert disk.names() == {"good"}


@pytest.mark.parametrize("name", WRITERS)
def test_with_room_it_is_written(tmp_path, name):
    WRITERS[name](tmp_path / "new")
    assert {each.name for each in tmp_path.iterdir()} == {"new"} and (tmp_path / "new").stat().st_size > 1000
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o666 & ~umask()


def umask():
    now = os.umask(0o022)
    os.umask(now)
    return now


def test_a_model_over_a_good_one_stays_whole(disk):
    network, folder = load(MODELS / "dream-a"), disk.folder / "model"
    config = json.loads((MODELS / "dream-a" / "config.json").read_text())
    folder.mkdir()
    for name in ("config.json", "model.safetensors"):
        (folder / name).write_text(f"good {name}")
    disk.fill(8192)  # room for the configuration, none for the weights
    with pytest.raises(WriteError, match=r"model\.safetensors cannot be written"):
        export(network, folder, config)
    assert [(folder / name).read_text() for name in ("config.json", "model.safetensors")] == ["good config.json", "good model.safetensors"]
    assert disk.names() == {"model", "config.json", "model.safetensors"}


def test_a_journal_keeps_what_it_had_and_catches_up(disk, caplog):
    path, asked = disk.folder / "run.samples.jsonl", [Request(key=f"q/{index}", prompt="How many?") for index in range(3)]
    journal = Journal(path, {"model": "tiny"})
    journal.add(asked[0], Answer(text="7", metrics=METRICS))
    before = path.read_bytes()
    disk.fill()
    journal.add(asked[1], Answer(text="8" * 9000, metrics=METRICS))
    assert path.read_bytes() == before and f"{path} cannot be written" in caplog.text
    with pytest.raises(WriteError, match=str(path)):
        journal.flush()
    disk.make_room()
    journal.add(asked[2], Answer(text="9", metrics=METRICS))
    again = Journal(path, {"model": "tiny"}, resume=True)
    assert [again.find(each).text[0] for each in asked] == ["7", "8", "9"]


def test_a_torn_line_is_cut_off_where_there_is_no_room(disk):
    path, asked = disk.folder / "run.samples.jsonl", Request(key="q/0", prompt="How many?")
    Journal(path, {}).add(asked, Answer(text="7", metrics=METRICS))
    with path.open("ab") as file:
        file.write(b'{"key": "q/1"')
    disk.fill()
    assert Journal(path, {}, resume=True).find(asked).text == "7" and path.read_bytes().endswith(b"\n")


def test_a_disk_that_is_full_is_noticed_before_the_work(disk):
    disk.fill()
    with pytest.raises(WriteError, match="new cannot be written"):
        writing.check_writable(disk.folder / "new")
    disk.make_room()
    writing.check_writable(None, disk.folder / "new")
    assert disk.names() == set()


PLACES = {
    "folder": (".", "it is a folder"),
    "no folder": ("none/file", "there is no folder"),
    "in a file": ("file/inside", "a part of its path is a file"),
    "long name": ("x" * 300, "name too long"),
    "circle": ("circle", "symbolic links"),
}


@pytest.mark.parametrize("way", [writing.check_writable, partial(writing.write_text, text="new")], ids=["check", "write"])
@pytest.mark.parametrize("name", PLACES)
def test_a_place_that_takes_no_file_is_named(tmp_path, name, way):
    (tmp_path / "file").write_text("good")
    (tmp_path / "circle").symlink_to("circle")
    place, words = PLACES[name]
    with pytest.raises(WriteError) as told:
        way(tmp_path / place)
    assert str(told.value).startswith(f"{tmp_path / place} cannot be written: ") and words in str(told.value)
    assert {each.name for each in tmp_path.iterdir()} == {"file", "circle"} and (tmp_path / "file").read_text() == "good"


@contextmanager
def no_root():
    """Who may write everywhere becomes, for a while, somebody who may not."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.parametrize(("file", "folder", "words"), [(0o444, 0o777, "Permission denied"), (0o666, 0o555, "its folder takes no new file")])
def test_permissions_are_minded(file, folder, words):
    with TemporaryDirectory() as parent:  # pytest's own folders are closed to all but their owner
        path = Path(parent) / "file"
        path.write_text("good")
        path.chmod(file)
        path.parent.chmod(folder)
        with no_root():
            assert path.read_text() == "good"
            for way in (writing.check_writable, partial(writing.write_text, text="new")):
                with pytest.raises(WriteError, match=words):
                    way(path)
        path.parent.chmod(0o700)
        assert path.read_text() == "good" and len(list(path.parent.iterdir())) == 1


def test_permissions_and_links_stay(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "file", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    writing.write_text(link, "new")
    assert link.is_symlink() and target.read_text() == "new" and stat.S_IMODE(target.stat().st_mode) == 0o640
    (tmp_path / "dangling").symlink_to(tmp_path / "there" / "later")
    writing.write_text(tmp_path / "dangling", "new")
    assert (tmp_path / "there" / "later").read_text() == "new" and (tmp_path / "dangling").is_symlink()


def test_what_is_no_plain_file_is_written_to(tmp_path):
    pipe, found = tmp_path / "pipe", []
    os.mkfifo(pipe)
    writing.check_writable(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    writing.write_text(pipe, "new")
    reader.join(timeout=60)
    assert found == ["new"] and stat.S_ISFIFO(pipe.stat().st_mode)
    writing.write_text(os.devnull, "new")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    with pytest.raises(WriteError, match="/dev/full cannot be written: the disk is full"):
        writing.write_text("/dev/full", "new")


def test_an_interruption_leaves_nothing_behind(tmp_path):
    (tmp_path / "file").write_text("good")
    with pytest.raises(KeyboardInterrupt), writing.replacing(tmp_path / "file") as beside:
        beside.write_text("half")
        raise KeyboardInterrupt
    assert [each.name for each in tmp_path.iterdir()] == ["file"] and (tmp_path / "file").read_text() == "good"


def test_two_files_of_one_name_are_refused(tmp_path):
    (tmp_path / "link").symlink_to("file")
    with pytest.raises(WriteError, match="twice"):
        writing.check_writable(tmp_path / "file", tmp_path / "link")
    writing.check_writable("/dev/null", "/dev/null")


@pytest.mark.parametrize(
    ("report", "journal"),
    [
        ("run.json", "run.samples.jsonl"), ("tau-0.9", "tau-0.9.samples.jsonl"), ("tau-0.95", "tau-0.95.samples.jsonl"),
        ("tau-0.9.json", "tau-0.9.samples.jsonl"), ("v1.2/run", "v1.2/run.samples.jsonl"), (".hidden", ".hidden.samples.jsonl"),
    ],
)  # fmt: skip
def test_a_dot_in_a_name_ends_nothing(tmp_path, report, journal):
    assert evaluation.companion(tmp_path / report, ".samples.jsonl") == tmp_path / journal
