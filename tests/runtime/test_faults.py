"""What goes wrong with workers: a run ends with one sentence and keeps its rounds, and the pool comes up again by itself."""

from __future__ import annotations

import signal
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from lopa_core.model.source import read_source
from lopa_core.runtime.crew import Patience, PoolFault
from lopa_core.runtime.pool import Pool
from lopa_core.runtime.pooled import open_pool

from ..helpers.models import dream_config, random_tensors, write_checkpoint
from ..helpers.pools import QUICK, Stage, all_gone, finish, send, until

pytestmark = pytest.mark.timeout(400)

GONE = "A worker ended unexpectedly, so the run was broken off; what it had decoded is kept. The workers are being started again."


# ---- in a run --------------------------------------------------------------------------------------------------------


def broken(stage, race, do=lambda: None) -> tuple[str, float]:
    """The sentence a run ends with and how long that took, if `do` is done at its third message."""
    told, began = 0, 0.0
    with pytest.raises(PoolFault) as fault:
        for _, happened in race.run():
            told += happened is not None
            if told == 3:
                began = time.monotonic()
                do()
    assert sum(len(tape.rounds) for tape in race.tapes.values()) == told >= 3
    return str(fault.value), time.monotonic() - began


def test_a_killed_worker(stage):
    stage.fault("slow", "0.02")
    pids, race = stage.pids(), stage.race()
    sentence, seconds = broken(stage, race, lambda: send(pids[0], signal.SIGKILL))
    assert sentence == GONE and seconds < QUICK.silence
    assert not any(tape.done for tape in race.tapes.values())
    with pytest.raises(PoolFault, match="not ready yet .starting; The worker on cpu.* was killed by signal 9.: please"):
        finish(stage.race())
    stage.ready()
    assert all_gone(pids, within=0)
    finish(stage.race())


@pytest.mark.parametrize("rank", (0, 1))
def test_a_worker_without_room(stage, rank):
    """All survive it, whichever it is."""
    pids, race = stage.pids(), stage.race()
    stage.fault("slow", "0.02")
    sentence, seconds = broken(stage, race, lambda: stage.fault(str(rank), "memory"))
    assert sentence == f"Worker {rank} ran out of memory, so the run was broken off: take fewer branches or fewer new tokens."
    assert seconds < QUICK.silence and stage.pool.state == "ready"
    finish(stage.race())
    assert stage.pids() == pids


def test_a_worker_that_fails_otherwise_ends(stage):
    """It cannot be trusted any more."""
    pids, race = stage.pids(), stage.race()
    stage.fault("slow", "0.02")
    sentence, seconds = broken(stage, race, lambda: stage.fault("1", "error"))
    assert sentence == GONE and seconds < QUICK.silence
    stage.ready()
    assert all_gone(pids, within=0)


# ---- longer than a collective may take ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def impatient(tmp_path_factory):
    """A stage whose collectives may take little time, one worker of which takes longer to load; and its first workers."""
    folder = tmp_path_factory.mktemp("impatient")
    (folder / "late-1").write_text("5")
    stage = Stage(folder, replace(QUICK, silence=4))
    while len(stage.pids()) < 2:
        time.sleep(0.01)
    first = stage.pids()
    stage.ready()
    yield stage, first
    stage.pool.close()


def test_a_worker_may_load_for_long(impatient):
    """Those that have loaded wait for it at their links."""
    stage, first = impatient
    assert stage.pids() == first
    finish(stage.race())


def test_workers_may_idle_for_long(impatient):
    stage, first = impatient
    time.sleep(stage.pool.patience.silence + 0.5)
    finish(stage.race())
    assert stage.pids() == first


def test_a_worker_that_hangs_in_a_forward(impatient):
    stage, first = impatient
    stage.fault("slow", "0.02")
    sentence, seconds = broken(stage, stage.race(), lambda: stage.fault("1", "hang"))
    assert sentence == GONE  # its peer has lost patience and ended
    assert seconds < 30  # while the worker would have hung for a minute
    stage.ready()
    assert all_gone(first, within=0)
    finish(stage.race())


# ---- silent --------------------------------------------------------------------------------------------------------------


def test_a_worker_that_is_stopped_ends_the_run_by_its_silence(begin):
    """Long before its peers lose patience with a collective."""
    pool = begin("ab", replace(QUICK, silence=600, beat=0.1, missed=20))
    pool.wait(60)
    pids, messages = [peer.pid for peer in pool.peers], pool.run({})
    stopper = threading.Timer(0.5, lambda: send(pids[1], signal.SIGSTOP))
    stopper.start()
    with pytest.raises(PoolFault, match="A worker has said nothing for 2 seconds, so the run was broken off; what it had decoded is kept"):
        next(messages)
    stopper.join()
    pool.wait(60)
    assert all_gone(pids, within=10)


def test_the_usual_patience_with_silence():
    """At most 15 seconds; and a busy machine must not be taken for one that has stopped."""
    usual = Patience()
    assert usual.beat * usual.missed >= 8 and usual.beat * (usual.missed + 2) <= 15


def test_a_slow_forward_is_no_silence(tmp_path):
    """It takes twice as long as a worker may be silent."""
    stage = Stage(tmp_path, replace(QUICK, beat=0.2, missed=20, silence=300))
    try:
        stage.ready()
        pids, race = stage.pids(), stage.race()
        stage.fault("1", "slow")
        finish(race)
        assert stage.pids() == pids and (stage.faults / "1-done").exists()
    finally:
        stage.pool.close()


def test_an_app_that_stood_still_itself_blames_nobody(begin):
    """Questions are counted, not seconds: after an hour nobody has missed more than one."""
    pool = begin("ab")
    pool.wait(60)
    for peer in pool.peers:
        peer.heard -= 3600
        peer.missed = 1
    pool.beat()
    assert not any(pool.silent(peer) for peer in pool.peers)


def test_a_silent_worker_is_not_asked_for_ever(begin):
    """Its socket would fill up, and then sending would block; once it goes on it answers all that it was asked."""
    pool = begin("ab", replace(QUICK, beat=0.01, missed=30))
    pool.wait(60)
    peer = pool.peers[1]
    send(peer.pid, signal.SIGSTOP)
    try:
        until(lambda: peer.missed > 400)
        assert pool.health()["workers"][0]["answers"]
    finally:
        send(peer.pid, signal.SIGCONT)
    until(lambda: not pool.silent(peer))
    assert pool.state == "ready" and pool.peers[1] is peer


# ---- at the start ----------------------------------------------------------------------------------------------------


def test_a_damaged_checkpoint(tmp_path):
    """Its fault is told as it is, and nothing is tried again."""
    write_checkpoint(tmp_path, dream_config(), random_tensors(dream_config()))
    (tmp_path / "model.safetensors").write_bytes(b"no tensors")
    model = open_pool(read_source(tmp_path).fetch(), ranks=1, device="cpu", patience=QUICK)
    try:
        with pytest.raises(PoolFault, match="^The workers cannot be started: .*model.safetensors"):
            model.wait()
    finally:
        model.close()


# ---- at the start, with workers that are there in a moment -------------------------------------------------------------


@pytest.fixture
def begin(tmp_path):
    """Start a pool of which some devices fail as told."""
    pools = []

    def start(devices: str, patience: Patience = QUICK, tensor: int = 1, **faults: str) -> Pool:
        for device, word in faults.items():
            (tmp_path / device).write_text(word)
        pools.append(Pool(list(devices), ["--faults", str(tmp_path)], patience, "tests.helpers.fake_worker", tensor))
        return pools[-1]

    yield start
    for pool in pools:
        pool.close()


def attempts(folder: Path, device: str) -> list[float]:
    return [float(line.split()[1]) for line in (folder / "attempts").read_text().splitlines() if line.startswith(device)]


def test_a_device_that_keeps_failing_is_left_out(begin, tmp_path):
    pool = begin("abc", b="exit")
    pool.wait(20)
    assert (pool.state, pool.names) == ("degraded", ("Fake a", "Fake c"))
    assert pool.reason == "b is left out: The worker on b ended with code 3."
    assert [told["device"] for told in pool.health()["workers"]] == ["Fake a", "Fake c"]
    tries = attempts(tmp_path, "b")
    assert len(tries) == 2 and tries[1] - tries[0] > 2 * QUICK.rest
    assert attempts(tmp_path, "c")[-1] - tries[1] > min(4 * QUICK.rest, QUICK.longest_rest)  # the rest doubles


def test_devices_that_share_a_network_are_left_out_by_the_team(begin):
    pool = begin("abcd", tensor=2, a="exit")
    pool.wait(20)
    assert (pool.state, pool.names) == ("degraded", ("Fake b", "Fake c"))
    assert pool.reason == "a is left out: The worker on a ended with code 3. d has no team."


def test_a_team_that_is_not_whole_is_no_pool(begin):
    with pytest.raises(PoolFault, match="cannot be started: The worker on b ended with code 3"):
        begin("ab", tensor=2, b="exit").wait(20)


def test_a_device_that_says_why(begin):
    pool = begin("ab", a="refuse")
    pool.wait(20)
    assert (pool.state, pool.reason) == ("degraded", "a is left out: a is no good.")


def test_the_device_furthest_behind_is_to_blame_if_they_are_not_ready_in_time(begin, monkeypatch):
    """Their time is over as soon as a loads, which it never ends, whether b is there or not."""
    clock = SimpleNamespace(monotonic=lambda: 100 * any(peer.at == "loading" for peer in pools[0].peers) if pools else 0)
    pools: list[Pool] = []
    monkeypatch.setattr("lopa_core.runtime.pool.time", clock)
    pools.append(begin("ab", Patience(start=90, rest=0.05, answer=1), a="slow", b="hang"))
    with pytest.raises(PoolFault, match="a was not ready within 90 seconds"):
        pools[0].wait(60)
    assert pools[0].left_out == ["b is left out: b was not ready within 90 seconds."]


def test_a_pool_of_which_nothing_is_left_has_failed(begin):
    pool = begin("ab", a="exit", b="exit")
    with pytest.raises(PoolFault, match="^The workers cannot be started: The worker on [ab] ended with code 3.$"):
        pool.wait(20)
    assert pool.state == "failed" and pool.health()["workers"] == []
    with pytest.raises(PoolFault, match="cannot be started"):
        next(pool.run({}))


def test_what_no_device_can_help_is_not_tried_again(begin, tmp_path):
    """Such as a checkpoint that is damaged."""
    pool = begin("ab", a="refuse for ever")
    with pytest.raises(PoolFault, match="The workers cannot be started: a is no good."):
        pool.wait(20)
    assert len(attempts(tmp_path, "a")) == 1


def test_a_code_that_says_hopeless_ends_the_starts(begin, tmp_path):
    """Whatever else the worker could not say."""
    pool = begin("ab", a="hopeless")
    with pytest.raises(PoolFault, match="The workers cannot be started: The worker on a ended with code 78."):
        pool.wait(60)
    assert len(attempts(tmp_path, "a")) == 1 and not pool.left_out


def test_an_excuse_while_workers_start(begin):
    pool = begin("ab", Patience(answer=0.5), a="slow")
    until = time.monotonic() + 20
    while [peer.at for peer in pool.peers] != ["loading", "loaded"] and time.monotonic() < until:
        time.sleep(0.01)
    health = pool.health()
    assert [told["at"] for told in health["workers"]] == ["loading", "loaded"] and health["state"] == "loading 2 of 2"
    assert pool.excuse() == "The model is not ready yet (loading 2 of 2): please try again in a moment."
    with pytest.raises(PoolFault, match="not ready yet"):
        pool.wait(0.1)


def test_a_worker_that_recovers_counts_as_new(begin, tmp_path):
    """Only failures before it is ready are counted."""
    pool = begin("a")
    for _ in range(4):
        pool.wait(20)
        pid = pool.peers[0].pid
        send(pid, signal.SIGKILL)
        assert all_gone([pid], within=20)
        while pool.works:
            time.sleep(0.01)
    pool.wait(20)
    assert pool.state == "ready" and len(attempts(tmp_path, "a")) == 5


def test_a_worker_that_reads_nothing_holds_nobody_up(begin):
    """A request larger than what the socket takes in: sending it must not wait for ever."""
    pool = begin("ab", replace(QUICK, answer=1))
    pool.wait(20)
    pids = [peer.pid for peer in pool.peers]
    send(pids[1], signal.SIGSTOP)
    began = time.monotonic()
    with pytest.raises(PoolFault, match="A worker could not be reached, so the run was broken off"):
        next(pool.run({"prompt": [60000] * 200_000}))
    assert time.monotonic() - began < QUICK.answer + 20
    pool.wait(20)
    assert all_gone(pids, within=0)


def test_a_run_of_which_nothing_is_heard(begin):
    """Fake workers do not end a run."""
    pool = begin("ab", Patience(silence=0.4, answer=0.6, rest=0.5))
    pool.wait(20)
    pids, began = [peer.pid for peer in pool.peers], time.monotonic()
    with pytest.raises(PoolFault, match="A worker did not answer in time, so the run was broken off.* being started again."):
        next(pool.run({}))
    assert 1 <= time.monotonic() - began < 20
    assert pool.excuse() == "The model is not ready yet (starting; A worker did not answer in time): please try again in a moment."
    pool.wait(20)
    assert all_gone(pids, within=0)


def test_no_process_can_be_started(begin, monkeypatch):
    def refused(*_, **__):
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("lopa_core.runtime.pool.subprocess.Popen", refused)
    with pytest.raises(PoolFault, match="cannot be started: A worker cannot be started: Resource temporarily unavailable"):
        begin("a").wait(10)
