"""Workers started by torchrun, and an app attached by address: same tokens, a secret that is checked, one app at a time."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from lopa_core.decode.settings import DecodeSettings
from lopa_core.model.errors import ModelError
from lopa_core.model.presets import PRESETS
from lopa_core.model.source import read_source
from lopa_core.runtime.attached import Attached
from lopa_core.runtime.crew import Patience
from lopa_core.runtime.pooled import attach
from lopa_core.runtime.session import open_model

from ..helpers.pools import until

ROOT = Path(__file__).parents[2]
FOLDER = PRESETS["lopa-tiny"].folder
CHECKPOINT = read_source(FOLDER).fetch()
SECRET = "correct horse battery"
QUESTION = "Mia has 12 shells. She finds 5 more and gives 3 to Leo. How many shells does Mia have now?"
LANES = {name: DecodeSettings(**CHECKPOINT.source.settings).decoder(name) for name in ("confidence", "lopa")}


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture(scope="module")
def gate():
    """The address of two workers under torchrun."""
    address, master = f"127.0.0.1:{free_port()}", str(free_port())
    command = [
        sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", master, "-m",
        "lopa_core.runtime.gateway", "--model", str(FOLDER), "--listen", address, "--threads", "1",
    ]  # fmt: skip
    launcher = subprocess.Popen(
        command, cwd=ROOT, env=os.environ | {"LOPA_SECRET": SECRET, "GLOO_SOCKET_IFNAME": "lo"}, stdout=subprocess.PIPE, text=True
    )
    try:
        assert "2 workers are ready" in launcher.stdout.readline()
        yield address
    finally:
        launcher.send_signal(signal.SIGTERM)
        launcher.wait(timeout=240)


def decoded(model, lanes=LANES):
    race = model.race(model.encode(QUESTION), lanes)
    for _ in race.run():
        pass
    return {name: (tape.tokens, [each.winner for each in tape.rounds]) for name, tape in race.tapes.items()}


@pytest.fixture
def attached(gate):
    model = once_free(lambda: attach(CHECKPOINT, gate, SECRET))
    yield model
    model.close()


def once_free(attached):
    """What attaches to the gate, as soon as that has heard that the app before is gone."""
    until = time.monotonic() + 30
    while True:
        try:
            return attached()
        except ModelError as error:
            if "Another app is attached" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.02)


def test_an_attached_app_decodes_the_same_tokens(attached):
    assert decoded(attached) == decoded(open_model(CHECKPOINT))
    told = attached.health()
    assert told["state"] == "ready" and [each["answers"] for each in told["workers"]] == [True, True]
    assert attached.hardware.startswith("2 x ")


def test_a_run_is_cancelled_and_the_next_one_works(attached):
    running = attached.race(attached.encode(QUESTION), {"vanilla": LANES["lopa"].decoder("vanilla")}).run()
    next(running)
    running.close()
    assert decoded(attached)["lopa"] == decoded(open_model(CHECKPOINT))["lopa"]


def test_a_wrong_secret_is_refused_and_harms_nobody(attached, gate):
    with pytest.raises(ModelError, match="another secret"):
        attach(CHECKPOINT, gate, "wrong horse battery")
    assert decoded(attached)


def test_an_app_with_another_alignment_is_refused(attached, gate):
    """Workers and app would decode each other's records wrongly, and nobody would see it."""
    attached.close()
    other = read_source(FOLDER, shifted=not CHECKPOINT.config().shifted).fetch()
    with pytest.raises(ModelError, match="rows predict is the next slot .--shifted. on theirs and their own slot"):
        once_free(lambda: attach(other, gate, SECRET))


def test_what_knows_no_secret_is_refused(attached, gate):
    told = pytest.raises(httpx.TransportError, httpx.get, f"http://{gate}/", timeout=10)
    assert told and decoded(attached)


def test_a_second_app_is_turned_away(attached, gate):
    with pytest.raises(ModelError, match="Another app is attached"):
        attach(CHECKPOINT, gate, SECRET)


def test_an_app_that_lost_the_gate_comes_back_to_it(gate):
    host, _, port = gate.rpartition(":")
    crew = once_free(lambda: Attached((host, int(port)), SECRET.encode(), Patience(rest=0.5)))
    crew.link.close()
    with crew.changed:
        assert crew.changed.wait_for(lambda: not crew.works, timeout=20)
    assert "lost" in crew.reason
    crew.wait(20)
    until(lambda: all(told["answers"] for told in crew.health()["workers"]))
    crew.close()


@pytest.mark.parametrize(
    ("address", "secret", "words"),
    [("127.0.0.1:1", SECRET, "No workers answer"), ("nowhere", SECRET, "no HOST:PORT"), ("127.0.0.1:1", "short", "needs LOPA_SECRET")],
)
def test_what_cannot_be_attached_to_is_a_sentence(address, secret, words):
    with pytest.raises(ModelError, match=words) as told:
        attach(CHECKPOINT, address, secret)
    assert "\n" not in str(told.value)


def test_workers_without_a_secret_do_not_start():
    command = [sys.executable, "-m", "lopa_core.runtime.gateway", "--model", str(FOLDER)]
    told = subprocess.run(command, cwd=ROOT, env=os.environ | {"LOPA_SECRET": ""}, capture_output=True, text=True, timeout=240)
    assert told.returncode == 1 and "LOPA_SECRET has to hold" in told.stderr and "Traceback" not in told.stderr
