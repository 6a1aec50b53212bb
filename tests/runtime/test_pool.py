"""Runs in worker processes: the same answer, one after the other, cancelled in step; and workers that go when told."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest
import torch

from lopa_core.decode.settings import DecodeSettings, SettingsError
from lopa_core.model.presets import PRESETS
from lopa_core.model.source import read_source
from lopa_core.runtime.crew import PoolFault
from lopa_core.runtime.local import LocalEngine
from lopa_core.runtime.pool import Pool
from lopa_core.runtime.pooled import open_pool
from lopa_core.runtime.race import LocalRace
from lopa_core.runtime.session import open_model
from lopa_core.tasks.examples import EXAMPLES

from ..helpers.models import conformance_network
from ..helpers.pools import LANES, PROMPT, QUICK, SETTINGS, all_gone, finish, send, until
from ..helpers.ranks import ROOT

pytestmark = pytest.mark.timeout(300)


def decided(tape):
    """What of a tape depends neither on time nor on the last digit of a probability."""
    seen = [[(each.slot, each.token, each.masks_left, each.seen.slots, each.seen.tokens) for each in one.branches] for one in tape.rounds]
    rounds = [(each.winner, each.filled, each.start, each.end) for each in tape.rounds]
    return seen, rounds, tuple(tape.tokens), tape.reason, tape.done


def in_one_process(lanes, forced=None):
    network = conformance_network("dream-a", dtype=torch.float32)
    race = LocalRace(lambda: LocalEngine(network), network.config, PROMPT, lanes, forced, False)
    for _ in race.run():
        pass
    return race


@pytest.mark.parametrize(
    ("changes", "forced"),
    [({}, None), ({"attention": "block_causal"}, {2: 1, 4: 0}), ({"temperature": 0.8, "seed": 4, "lookahead": 8}, None)],
    ids=("full", "block-causal and forced", "sampled"),
)  # fmt: skip
def test_the_workers_decode_what_one_process_does(stage, changes, forced):
    lanes = {"lopa": replace(SETTINGS, **changes)}
    race = stage.race(lanes, forced)
    told = finish(race)
    wanted = in_one_process(lanes, forced).tapes["lopa"]
    assert decided(race.tapes["lopa"]) == decided(wanted)
    scores = [[branch.score for each in tape.rounds for branch in each.branches] for tape in (race.tapes["lopa"], wanted)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-5)
    assert [happened for _, happened in told] == race.tapes["lopa"].rounds
    assert {span.device for each in race.tapes["lopa"].rounds for span in each.spans} == {0, 1}
    assert len(race.tapes["lopa"].devices) == 2 and race.tapes["lopa"].forced == (forced or {})


def test_a_lane_that_is_through_is_told_at_once(stage):
    lanes = {"short": replace(SETTINGS, max_new_tokens=8), "long": replace(SETTINGS, selection="one", lookahead=0)}
    race = stage.race(lanes, warm=True)
    told = [(name, happened is not None, race.tapes["short"].done) for name, happened in race.run()]
    assert told[:6] == [("short", False, False)] * 3 + [("long", False, False)] * 3
    assert told[-1] == ("long", True, True) and race.tapes["long"].done
    wanted = in_one_process(lanes)
    assert all(decided(tape) == decided(wanted.tapes[name]) for name, tape in race.tapes.items())


def test_a_prompt_that_cannot_be_decoded_reaches_no_worker(stage):
    with pytest.raises(SettingsError, match="vocabulary"):
        stage.race({"lopa": replace(SETTINGS, eos_token_id=10_000)})


def test_settings_that_only_show_in_the_run_are_a_sentence(stage):
    race, pids = stage.race({"lopa": SETTINGS}, {1: 60}), stage.pids()
    with pytest.raises(PoolFault, match="branch 60 cannot win"):
        finish(race)
    finish(stage.race())
    assert stage.pids() == pids


@pytest.mark.parametrize("messages", (1, 4))
def test_leaving_a_run_ends_it_on_all_ranks_in_a_round_or_two(stage, messages, monkeypatch):
    """The round in which they hear of it, which here waits for them to be told, or the next one."""
    stage.fault("slow", "0.1")
    stage.fault("gate", str(messages))
    before, race, tell = stage.rounds(), stage.race(), stage.pool.tell

    def telling(**message):
        reached = tell(**message)
        if message["do"] == "cancel":
            stage.mend("gate")
        return reached

    monkeypatch.setattr(stage.pool, "tell", telling)
    rounds = race.run()
    for _ in range(messages):
        next(rounds)
    rounds.close()
    more = [after - rounds_before for after, rounds_before in zip(stage.rounds(), before)]
    assert more[0] == more[1] and messages <= more[0] <= messages + 2
    assert sum(len(tape.rounds) for tape in race.tapes.values()) == messages
    assert not any(tape.done for tape in race.tapes.values())
    stage.ready()
    finish(stage.race())


def test_a_run_that_is_left_before_it_began_asks_nothing(stage):
    before = stage.rounds()
    stage.race().run().close()
    assert stage.rounds() == before
    finish(stage.race())


def test_a_cancel_that_overtakes_its_run_ends_it_at_once(stage):
    """The workers are busy with another run when both arrive."""
    stage.fault("gate", "1")
    before, race = stage.rounds(), stage.race()
    rounds = race.run()
    next(rounds)
    stage.pool.tell(do="run", run=1, **race.request)
    stage.pool.tell(do="cancel", run=1)
    stage.pool.tell(do="cancel", run=2)  # no such run: forgotten, not kept for one that may come
    assert all(worker["running"] for worker in stage.health())  # by now they have read all that
    stage.mend("gate")
    told = 1 + len(list(rounds))
    until(lambda: not any(worker["running"] for worker in stage.health()))
    assert [after - rounds_before for after, rounds_before in zip(stage.rounds(), before)] == [told, told]
    finish(stage.race())


def test_two_runs_at_once_are_served_one_after_the_other(stage):
    stage.fault("slow", "0.002")
    order, races = [], [stage.race(), stage.race()]

    def serve(index: int) -> None:
        for _ in races[index].run():
            order.append(index)

    threads = [threading.Thread(target=serve, args=[index]) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert order == sorted(order, key=[order[0], 1 - order[0]].index)  # all of one, then all of the other
    assert order.count(0) == order.count(1) > 10
    for name, tape in in_one_process(LANES).tapes.items():
        assert decided(races[0].tapes[name]) == decided(races[1].tapes[name]) == decided(tape)


def test_health_is_what_the_workers_said_last(stage):
    workers = stage.health()
    health = stage.pool.health()
    assert (health["state"], health["reason"], health["dtype"]) == ("ready", "", "float32")
    for rank, (told, pid) in enumerate(zip(workers, stage.pids())):
        assert told["rank"] == rank and told["answers"] and told["pid"] == pid and told["running"] is None
        assert 50 * 2**20 < told["memory"]["used"] < told["memory"]["total"] and 0 <= told["age"] < QUICK.answer


def test_a_worker_that_stands_still_does_not_answer(stage):
    """Until it goes on; as long as nothing runs it is not ended."""
    pids = stage.pids()
    send(pids[1], signal.SIGSTOP)
    try:
        until(lambda: [told["answers"] for told in stage.pool.health()["workers"]] == [True, False])
        told = stage.pool.health()["workers"][1]
        assert told["age"] > QUICK.answer and "memory" not in told
    finally:
        send(pids[1], signal.SIGCONT)
    until(lambda: [told["answers"] for told in stage.pool.health()["workers"]] == [True, True])
    finish(stage.race())
    assert stage.pids() == pids


def test_who_asks_for_health_waits_for_nobody(stage):
    """Each browser tab does, every few seconds; a worker that hangs must not hold on to as many threads of the server."""
    pid = stage.pids()[1]
    send(pid, signal.SIGSTOP)
    try:
        used = time.thread_time()
        began = time.monotonic()
        for _ in range(200):
            stage.pool.health()
        assert time.monotonic() - began < QUICK.answer or time.thread_time() - used > 1  # 200 times QUICK.answer, if it waited
    finally:
        send(pid, signal.SIGCONT)


def test_health_during_a_run_tells_of_it(stage):
    stage.fault("gate", "1")
    rounds = stage.race().run()
    next(rounds)
    until(lambda: all(worker["running"] and worker["answers"] for worker in stage.pool.health()["workers"]))
    stage.mend("gate")
    rounds.close()


def test_the_embedded_model_in_three_workers():
    """From the folder to the trace, as the page and the command line do it."""
    model = open_pool(read_source().fetch(), ranks=3, device="cpu", threads=1, patience=QUICK)
    try:
        alone, settings = open_model(), DecodeSettings(**PRESETS["lopa-tiny"].settings)
        lanes = {"confidence": settings.decoder("confidence"), "lopa": settings}
        question = EXAMPLES["Shells"].question
        model.wait()
        races = [each.race(each.encode(question), lanes, warm=False) for each in (model, alone)]
        told = [list(race.run()) for race in races]
        assert len(told[0]) == len(told[1])
        for ours, wanted in zip(*(each.traces(race, question) for each, race in zip((model, alone), races))):
            assert (ours.text, ours.tokens, ours.reason) == (wanted.text, wanted.tokens, wanted.reason)
            assert [each.winner for each in ours.rounds] == [each.winner for each in wanted.rounds]
            assert len(ours.devices) == 3 and model.hardware.startswith("3 x CPU, 1 thread")
        pids = [peer.pid for peer in model.crew.peers]
    finally:
        model.close()
    assert all_gone(pids, within=0) and model.health()["state"] == "closed"
    with pytest.raises(PoolFault, match="have been stopped"):
        list(model.race(PROMPT, lanes).run())


APP = """
import sys
from pathlib import Path
from tests.helpers.pools import Stage
stage = Stage(Path(sys.argv[1]))
stage.pool.wait(100)
rounds = stage.race().run()
next(rounds)
print(*stage.pids(), flush=True)
sys.stdin.read()
"""


def test_no_worker_outlives_an_app_that_is_killed(tmp_path):
    """Neither one that is at work nor one that stands still."""
    (tmp_path / "slow").write_text("0.2")
    app = subprocess.Popen([sys.executable, "-c", APP, tmp_path], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with app:
        pids = list(map(int, app.stdout.readline().split()))
        assert len(pids) == 2 and not all_gone(pids, within=0)
        send(pids[0], signal.SIGSTOP)
        app.kill()
    assert all_gone(pids, within=20)


def test_closing_ends_a_run_with_a_sentence_and_leaves_nothing(tmp_path):
    pool = Pool(["a", "b"], ["--faults", str(tmp_path)], QUICK, "tests.helpers.fake_worker")
    pool.wait(20)
    pids, rounds = [peer.pid for peer in pool.peers], pool.run({})
    closer = threading.Timer(0.3, pool.close)
    closer.start()
    began = time.monotonic()
    with pytest.raises(PoolFault, match="were stopped, so the run was broken off"):
        next(rounds)
    assert time.monotonic() - began < 20
    closer.join()
    assert all_gone(pids, within=0) and not pool.supervisor.is_alive()
    pool.close()  # twice does no harm
