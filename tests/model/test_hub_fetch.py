"""Files arrive as they are on the Hub: broken connections are resumed, damaged files are removed, Xet is not needed."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from huggingface_hub import constants
from hypothesis import given
from hypothesis import strategies as st

from lopa_core.model import hub_progress
from lopa_core.model.checkpoint import load
from lopa_core.model.errors import ModelError
from lopa_core.model.hub import find
from lopa_core.model.hub_progress import Meter, console_bar

SHARD, LAST = "model-00002-of-00003.safetensors", "model-00003-of-00003.safetensors"


def same(found: Path, folder: Path) -> bool:
    return all(path.read_bytes() == (folder / path.name).read_bytes() for path in found.iterdir())


@pytest.mark.parametrize("times", [1, 3])
def test_a_connection_that_is_cut_is_resumed_where_it_was(hub, folders, monkeypatch, times):
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 1000)
    hub.fail(f"*/{SHARD}", cut=9000, methods=("GET",), times=times)
    assert same(find("org/dream").folder, folders["dream"])
    assert hub.ranges == [f"bytes={9000 * part}-" for part in range(1, times + 1)]


def test_a_connection_that_is_reset_is_tried_again(hub, folders, caplog):
    hub.fail(f"*/{SHARD}", cut=9000, reset=True, methods=("GET",), times=2)
    with caplog.at_level(logging.WARNING, "lopa_core"):
        assert same(find("org/dream").folder, folders["dream"])
    assert f"{SHARD} of org/dream broke off" in caplog.text


def test_a_download_that_was_given_up_goes_on_behind_the_files_that_are_here(hub, folders):
    hub.fail(f"*/{SHARD}", status=500)
    with pytest.raises(ModelError):
        find("org/dream")
    hub.faults.clear()
    hub.requests.clear()
    found = find("org/dream")
    assert {path.rpartition("/")[2] for method, path in hub.requests if "resolve" in path and method == "GET"} == {SHARD, LAST}
    assert same(found.folder, folders["dream"])


@pytest.mark.parametrize("name", [SHARD, "vocab.json", "config.json"])
def test_a_damaged_file_is_removed_and_the_next_attempt_works(hub, folders, name):
    hub.fail(f"*/{name}", spoil=True, methods=("GET",), times=1)
    with pytest.raises(ModelError, match=f"{name} of org/dream arrived damaged, its checksum is not the Hub's, and was removed: try again"):
        find("org/dream")
    found = find("org/dream")
    assert same(found.folder, folders["dream"])
    load(found.folder)


def test_a_file_of_the_wrong_size_is_not_kept(hub, folders):
    hub.fail(f"*/{SHARD}", drop=7, methods=("GET",), times=1)
    with pytest.raises(ModelError, match="org/dream could not be loaded .*size.*: try again"):
        find("org/dream")
    assert same(find("org/dream").folder, folders["dream"])


def test_a_repository_on_xet_comes_by_plain_http_where_that_is_switched_off(hub, folders, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    hub.xet = True  # on a server that is not there
    assert same(find("org/dream").folder, folders["dream"])


def test_whoever_watches_may_stop_it_and_nothing_half_is_left(hub, tmp_path, monkeypatch):
    monkeypatch.setattr(hub_progress, "PACE", 0.0)

    class Enough(Exception):
        pass

    def stop(done: int, _: int, name: str) -> None:
        if name == SHARD:
            raise Enough

    with pytest.raises(Enough):
        find("org/dream", progress=stop)
    assert not list(tmp_path.rglob("*.incomplete"))


@given(sizes=st.lists(st.integers(0, 50), min_size=1, max_size=5), data=st.data())
def test_the_meter_rises_and_ends_at_all_bytes(sizes, data):
    told, meter = [], Meter(sum(sizes), lambda *one: told.append(one))
    for number, size in enumerate(sizes):
        for _ in range(data.draw(st.integers(1, 3))):  # the last attempt is the one that works
            meter.begin(str(number), size)
            for step in data.draw(st.lists(st.integers(-20, 60), max_size=5)):
                meter.moved(step)
        meter.end()
    done = [one[0] for one in told]
    assert done == sorted(set(done)) and all(0 <= one <= sum(sizes) for one in done)
    assert {one[1] for one in told} <= {sum(sizes)} and done[-1] == sum(sizes)


def test_the_console_shows_a_bar_per_download_and_none_where_nothing_is_loaded(capsys):
    with console_bar():
        pass
    assert capsys.readouterr().err == ""
    with console_bar() as bar:
        bar(5, 10, "model.safetensors")
        bar(10, 10, "model.safetensors")
        bar(3, 3, "adapter_model.safetensors")
    shown = capsys.readouterr().err
    assert "\rmodel.safetensors: 100%" in shown and "adapter_model.safetensors: 100%" in shown
