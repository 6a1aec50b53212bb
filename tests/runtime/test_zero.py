"""A model on ZeroGPU: each race in a process forked for it, the same tokens, a clean end, and every failure a sentence."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import gradio as gr
import httpx
import pytest
import torch

from lopa_core.decode.settings import DecodeSettings
from lopa_core.model.catalogue import CATALOGUE
from lopa_core.model.errors import ModelError
from lopa_core.model.source import read_source
from lopa_core.runtime.crew import PoolFault
from lopa_core.runtime.session import open_model
from lopa_core.runtime.zero import LEASE, ZeroModel, on_zero, sentence

from ..helpers.lender import Lender
from ..helpers.models import MODELS
from ..helpers.traces import PROMPT, SMALL

ROOT = Path(__file__).parents[2]
LANES = {"confidence": SMALL.decoder("confidence"), "lopa": SMALL}
FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that forks")


@pytest.fixture(scope="module")
def local():
    return open_model(read_source(MODELS / "dream-a").fetch(), device="cpu", dtype=torch.float32)


def zero(local, lender):
    return ZeroModel(read_source(MODELS / "dream-a").fetch(), local.network, local.hardware, lender.GPU)


def decoded(model, **how):
    """The tapes of a race that ran to its end."""
    race = model.race(PROMPT, LANES, **how)
    for _ in race.run():
        pass
    return race.tapes


def broken_network(monkeypatch, local, error):
    def head(_):
        raise error

    monkeypatch.setattr(local.network.head, "forward", head)


@FORKS
@pytest.mark.parametrize("how", [{}, {"warm": False, "forced": {1: 0}}], ids=["plain", "what if"])
def test_the_tokens_are_those_of_a_race_in_this_process(local, how):
    here, there = decoded(local, **how), decoded(zero(local, Lender()), **how)
    for name in LANES:
        assert there[name].tokens == here[name].tokens and there[name].reason == here[name].reason
        assert [each.branches for each in there[name].rounds] == [each.branches for each in here[name].rounds]
        assert there[name].devices == (f"{local.hardware} (ZeroGPU)",)


@FORKS
def test_nothing_runs_here_and_each_call_is_one_process_that_ends(local, monkeypatch):
    lender = Lender()
    model = zero(local, lender)
    decoded(model)
    decoded(model)
    assert [child.exitcode for child in lender.children] == [0, 0] and len({child.pid for child in lender.children}) == 2
    assert model.spare == []  # no engine was opened in this process
    assert lender.asked == [LEASE.least] * 2


@FORKS
def test_leaving_the_race_ends_the_call(local):
    lender = Lender()
    race = zero(local, lender).race(PROMPT, LANES)
    rounds = race.run()
    for _ in range(9):
        next(rounds)
    assert lender.children[0].is_alive()
    rounds.close()
    assert lender.children[0].exitcode == 0
    assert sum(len(tape.rounds) for tape in race.tapes.values()) == 3 and not any(tape.done for tape in race.tapes.values())


@FORKS
def test_a_gpu_taken_back_is_a_sentence_and_the_rounds_stay(local):
    lender = Lender()
    race = zero(local, lender).race(PROMPT, {"lopa": replace(SMALL, max_new_tokens=480, tau_conf=1.0)}, warm=False)
    with pytest.raises(PoolFault, match="took its GPU back.*kept"):
        for _ in race.run():
            os.kill(lender.children[0].pid, signal.SIGKILL)
    assert race.tapes["lopa"].rounds


@FORKS
@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ModelError("The network's output is not a number."), "^The network's output is not a number.$"),
        (torch.OutOfMemoryError("CUDA out of memory."), "ran out of memory.*fewer branches"),
        (ZeroDivisionError("private"), r"failed on ZeroGPU \(ZeroDivisionError\).*log"),
    ],
)
def test_an_error_in_the_forked_process_is_a_sentence(local, monkeypatch, error, words):
    broken_network(monkeypatch, local, error)
    with pytest.raises(ModelError, match=words) as told:
        decoded(zero(local, Lender()))
    assert "private" not in str(told.value)


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (gr.Error("You have exceeded your free quota (15s requested vs. 3s left).", title="ZeroGPU quota exceeded"), "3s left.*sign in"),
        (gr.Error("The requested GPU duration is larger.", title="ZeroGPU illegal duration"), "larger.*fewer"),
        (gr.Error("Too many credits allocated.", title="ZeroGPU pending credits exceeded"), "later"),
        (gr.Error("No GPU was available after 60s.", title="ZeroGPU queue timeout"), "no GPU to lend.*again"),
        (gr.Error("Expired ZeroGPU proxy token", title="ZeroGPU client error"), "no GPU to lend.*again"),
        (httpx.ConnectError("refused by 10.0.0.1"), "does not answer.*again"),
        (RuntimeError("ZeroGPU API /schedule error: 500"), "does not answer.*again"),
    ],
)
def test_a_call_that_is_refused_is_a_sentence(local, refusal, words):
    with pytest.raises(PoolFault, match=words) as told:
        decoded(zero(local, Lender(refusal)))
    assert ".." not in str(told.value) and "10.0.0.1" not in str(told.value)


def test_an_error_of_a_title_that_is_new_is_a_sentence_too():
    assert "(Some news)" in sentence("ZeroGPU something", "Some news")


@pytest.mark.parametrize(
    ("value", "on"), [(None, False), ("", False), ("0", False), ("false", False), ("true", True), ("TRUE", True), ("1", True), ("t", True)]
)
def test_a_zerogpu_space_is_known_by_its_variable(monkeypatch, value, on):
    monkeypatch.delenv("SPACES_ZERO_GPU", raising=False)
    if value is not None:
        monkeypatch.setenv("SPACES_ZERO_GPU", value)
    assert on_zero() is on


def test_health_asks_no_gpu(local, monkeypatch):
    model = zero(local, Lender())
    monkeypatch.setattr(type(local.network), "device", property(lambda _: pytest.fail("a device was asked")))
    told = model.health()
    assert told["state"] == "ready" and told["dtype"] == "float32"
    assert "ZeroGPU" in told["workers"][0]["device"] and told["workers"][0]["answers"] and told["workers"][0]["memory"]["used"] > 0


def request(warm=True, **settings):
    wanted = DecodeSettings(**settings)
    return {"lanes": {name: asdict(wanted.decoder(name)) for name in ("confidence", "lopa")}, "warm": warm}


def test_seconds_grow_with_the_work_within_bounds():
    usual = LEASE.seconds(request(max_new_tokens=128), 15.2)
    assert LEASE.least < usual < LEASE.most
    assert usual < LEASE.seconds(request(max_new_tokens=256), 15.2)
    assert usual < LEASE.seconds(request(max_new_tokens=128, lookahead=16), 15.2)
    assert LEASE.seconds(request(max_new_tokens=128), 1.5) < usual
    assert LEASE.seconds(request(max_new_tokens=16), 0.01) == LEASE.least
    assert LEASE.seconds(request(max_new_tokens=4096, lookahead=64), 16.0) == LEASE.most
    assert isinstance(usual, int) and LEASE.most * 1.5 <= 120


def test_no_preset_s_own_settings_are_cut_short():
    for preset in CATALOGUE.values():
        assert LEASE.seconds(request(**preset.settings), preset.parameters * 2 / 1e9) < LEASE.most, preset.key


def test_elsewhere_the_package_is_not_imported():
    """Nor Gradio, which it needs: the room of the runtime stays free of both."""
    told = "import sys, lopa_core.runtime.zero; print({'spaces', 'gradio'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", told], cwd=ROOT, capture_output=True, text=True, timeout=60).stdout == "set()\n"


def test_off_zerogpu_the_package_s_own_decorator_changes_nothing(local):
    spaces = pytest.importorskip("spaces", reason="ZeroGPU brings it; install it to run this")
    model = ZeroModel(read_source(MODELS / "dream-a").fetch(), local.network, local.hardware, spaces.GPU)
    assert decoded(model)["lopa"].tokens == decoded(local)["lopa"].tokens


@pytest.mark.skipif(sys.platform != "linux", reason="the package is at home on Linux")
def test_on_zerogpu_the_package_itself_loads_packs_forks_and_ends_our_runs(tmp_path):
    """With a service of ours that lends, and without the two functions that touch a GPU: see the script."""
    pytest.importorskip("spaces", reason="ZeroGPU brings it; install it to run this")
    command = [sys.executable, "-m", "tests.helpers.zero_space", str(tmp_path)]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert told.returncode == 0, told.stderr
    seen = json.loads(told.stdout.splitlines()[-1])
    assert seen["loaded to"] == "cuda:0" and seen["tokens"] == seen["here"]
    assert seen["left_early"] == 3
    assert "took its GPU back" in seen["killed"] and "No time on ZeroGPU is left" in seen["refused"]
    paths = [path for path, _ in seen["asked"]]
    assert paths == ["/startup-report", "/schedule", "/allow", "/release", "/schedule", "/release", "/schedule", "/release", "/schedule"]
    assert [query["fail"] for path, query in seen["asked"] if path == "/release"] == [["false"], ["false"], ["true"]]
    assert seen["asked"][1][1]["durationSeconds"] == [str(LEASE.least)]
