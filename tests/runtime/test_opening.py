"""A model on its way: what it does, when it has come, and why it never will."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
import torch

from lopa_core.model.errors import ModelError
from lopa_core.model.source import read_source
from lopa_core.runtime import device
from lopa_core.runtime.opening import Opening, Place, open_checkpoint

from ..helpers.models import MODELS, dream_config, random_tensors, write_checkpoint

HERE = Place(ranks=0, device="cpu")


def test_a_model_comes_and_says_meanwhile_what_it_does():
    go, seen = threading.Event(), []

    class Slow(type(HERE)):
        def open(self, checkpoint, progress):
            progress(25, 100, "")
            assert go.wait(30)
            return super().open(checkpoint, progress)

    opening = Opening(read_source(MODELS / "dream-a"), Slow(ranks=0, device="cpu"))
    while (state := opening.state) != "loading, 25%":
        seen.append(state)
    assert set(seen) <= {"starting", "loading"} and opening.model is None and not opening.wait(0.01)
    go.set()
    assert opening.wait(30) and opening.model.name == "dream-a" and opening.state == "ready" and not opening.error


def test_a_download_is_told_in_bytes(monkeypatch):
    told = []

    class Far(type(read_source())):
        def fetch(self, progress):
            progress(2_000_000_000, 15_200_000_000, "model-00001.safetensors")
            told.append(opening.state)
            return read_source().fetch()

    known = read_source()
    ready = threading.Event()
    opening = Opening.__new__(Opening)
    monkeypatch.setattr(threading.Thread, "start", lambda thread: ready.set())
    opening.__init__(Far(name="far", title="Far", where=known.where), HERE)
    monkeypatch.undo()
    opening.run()
    assert told == ["downloading, 2.0 GB of 15.2 GB"] and opening.model


def test_a_fault_is_kept_as_a_sentence(tmp_path):
    write_checkpoint(tmp_path, dream_config(), random_tensors(dream_config()))
    (tmp_path / "model.safetensors").write_bytes(b"no tensors")
    opening = Opening(read_source(tmp_path), HERE)
    assert opening.wait(30) and opening.state == "failed" and opening.model is None
    assert "model.safetensors" in opening.error and "\n" not in opening.error


def test_what_nobody_thought_of_is_logged(caplog):
    class Broken(type(HERE)):
        def open(self, checkpoint, progress):
            raise ZeroDivisionError

    opening = Opening(read_source(), Broken())
    assert opening.wait(30) and "ZeroDivisionError" in opening.error and "ZeroDivisionError" in caplog.text


def test_workers_of_a_model_that_nobody_waits_for_any_more_are_ended():
    closed, go = [], threading.Event()

    class Late(type(HERE)):
        def open(self, checkpoint, progress):
            assert go.wait(30)
            model = super().open(checkpoint, progress)
            model.close = lambda: closed.append(True)
            return model

    opening = Opening(read_source(), Late(ranks=0, device="cpu"))
    opening.close()
    go.set()
    assert opening.wait(30)
    for _ in range(1000):
        if closed:
            break
        threading.Event().wait(0.01)
    assert closed


def test_a_model_larger_than_the_machine_is_not_loaded(monkeypatch):
    monkeypatch.setattr("lopa_core.runtime.session.available", lambda place: 1_000_000)
    with pytest.raises(ModelError, match="needs about .* but this machine has 1 MB free"):
        open_checkpoint(read_source(), HERE)
    assert open_checkpoint(read_source(), replace(HERE, dtype=torch.float32))  # who asks for a type gets it


def test_memory_that_can_be_had_is_less_than_there_is():
    place = torch.device("cpu")
    assert 0 < device.available(place) < device.memory(place)["total"]


def test_a_container_may_allow_less(tmp_path):
    assert device.allowance(tmp_path) == float("inf")
    (tmp_path / "memory.current").write_text("400\n")
    for limit, left in (("max\n", float("inf")), ("1000\n", 600)):
        (tmp_path / "memory.max").write_text(limit)
        assert device.allowance(tmp_path) == left


def test_a_download_that_nobody_wants_any_more_ends():
    begun, go = threading.Event(), threading.Event()

    class Far(type(read_source())):
        def fetch(self, progress):
            begun.set()
            assert go.wait(30)
            progress(1, 2, "weights")
            raise AssertionError("it went on")

    opening = Opening(Far(name="far", title="Far", where="org/far"), HERE)
    assert begun.wait(30)
    opening.close()
    go.set()
    assert opening.wait(30) and not opening.error and opening.model is None
