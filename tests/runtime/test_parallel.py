"""Branch parallelism: any number of ranks decodes what one process does, and what happens to one rank all are told.

The four ranks are processes in one group (tests/helpers/ranks.py); the jobs below run on them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist

from lopa_core.decode.loop import decode
from lopa_core.decode.observation import Observation
from lopa_core.decode.round import Round
from lopa_core.decode.settings import DecodeSettings
from lopa_core.decode.window import Engine, Window, ask
from lopa_core.model.network import Transformer
from lopa_core.model.presets import PRESETS
from lopa_core.runtime import packet
from lopa_core.runtime.local import LocalEngine
from lopa_core.runtime.parallel import Cancelled, OutOfStep, ParallelEngine
from lopa_core.runtime.race import LocalRace
from lopa_core.runtime.session import open_model
from lopa_core.tasks.examples import EXAMPLES

from ..helpers.models import conformance_network
from ..helpers.ranks import Ranks

pytestmark = pytest.mark.timeout(300)

EVERY = [(ranks, lookahead) for ranks in (1, 2, 3, 4) for lookahead in (1, 2, 4, 7, 8)]
SOME = [(1, 4), (2, 2), (2, 7), (3, 4), (4, 1), (4, 8)]
PROMPT = [165, 485, 77, 202, 333, 24, 37]
PIPELINED = DecodeSettings(max_new_tokens=32, block_size=8, tau_add=0.1)


@dataclass(frozen=True)
class Case:
    """What is decoded."""

    model: str = "dream-a"
    settings: DecodeSettings = PIPELINED
    forced: dict[int, int] = field(default_factory=dict)


CASES = {
    f"{model}-{attention}-{temperature}": Case(model, replace(PIPELINED, attention=attention, temperature=temperature, seed=4))
    for model in ("dream-a", "llada-a")
    for attention in ("full", "block_causal")
    for temperature in (0.0, 0.8)
} | {
    "as the official code": Case(settings=PIPELINED.reference()),
    "forced": Case(settings=replace(PIPELINED, attention="block_causal"), forced={2: 1, 3: 0, 5: 1}),
    "lopa-tiny": Case("lopa-tiny", DecodeSettings(**PRESETS["lopa-tiny"].settings)),
    "lopa-tiny, sampled": Case("lopa-tiny", replace(DecodeSettings(**PRESETS["lopa-tiny"].settings), temperature=0.7, seed=2)),
}  # fmt: skip

IN_FULL = ("dream-a-full-0.0", "dream-a-block_causal-0.8", "llada-a-full-0.8", "llada-a-block_causal-0.0")


@pytest.fixture(scope="module")
def group():
    ranks = Ranks(4)
    yield ranks
    ranks.close()


# ---- jobs ------------------------------------------------------------------------------------------------------------


@cache
def network(model: str) -> Transformer:
    return open_model().network if model == "lopa-tiny" else conformance_network(model)


@cache
def prompt(model: str) -> list[int]:
    return open_model().encode(EXAMPLES["Two in one"].question) if model == "lopa-tiny" else PROMPT


def decoded(engine: Engine, case: Case) -> dict[str, Any]:
    """A decode as plain data, its scores in full."""
    decoding, rounds = decode(prompt(case.model), engine, case.settings, case.forced), []
    while True:
        try:
            rounds.append(plain(next(decoding)))
        except StopIteration as stop:
            scores = [score for each in rounds for score in each.pop("scores")]
            return {"ids": stop.value.tokens, "reason": stop.value.reason, "rounds": rounds, "scores": scores}


def plain(each: Round) -> dict[str, Any]:
    return {
        "winner": each.winner,
        "filled": each.filled.tolist(),
        "window": (each.start, each.end, each.committed),
        "tried": [branch.tried and (branch.tried.slot, branch.tried.token) for branch in each.branches],
        "seen": [(branch.slots.tolist(), branch.seen.tokens.tolist()) for branch in each.branches],
        "scores": [branch.score for branch in each.branches],
    }


def in_parallel(group: dist.ProcessGroup, case: Case) -> dict[str, Any]:
    return decoded(ParallelEngine(LocalEngine(network(case.model)), group, ()), case)


def raced(group: dist.ProcessGroup) -> tuple[list[tuple[str, float]], dict[str, list[int]]]:
    """Which lane ran when in a race with a warm-up, and its engine's clock (0 in the warm-up); and what each decoded."""
    lanes = {"confidence": PIPELINED.decoder("confidence"), "lopa": PIPELINED}
    race = LocalRace(lambda: ParallelEngine(LocalEngine(network("dream-a")), group, ()), network("dream-a").config, PROMPT, lanes)
    turns = [(name, race.tapes[name].engine.clock if happened else 0.0) for name, happened in race.run()]
    return turns, {name: tape.tokens for name, tape in race.tapes.items()}


def figures(group: dist.ProcessGroup) -> tuple[list[Any], int]:
    """Of each round: its branches, who ran which, the common clock; and how many bytes this rank has sent."""
    engine, rounds = ParallelEngine(LocalEngine(network("dream-a")), group, ()), []
    for each in decode(PROMPT, engine, PIPELINED):
        own = [span for span in engine.spans if span.device == engine.rank]
        assert all(span.start <= span.end <= time.perf_counter() for span in own)
        rounds.append((len(each.branches), [row for span in engine.spans for row in span.rows], engine.clock))
    return rounds, engine.bytes_sent


def in_trouble(group: dist.ProcessGroup, change: Callable[[ParallelEngine], None], rank: int) -> tuple[int, str, str]:
    """Rounds that went well, and the name and words of what ended a decode of which `rank` something was changed."""
    engine, rounds = ParallelEngine(LocalEngine(network("dream-a")), group, ()), 0
    if engine.rank == rank:
        change(engine)
    try:
        for _ in decode(PROMPT, engine, PIPELINED):
            rounds += 1
    except (RuntimeError, ValueError, Cancelled, OutOfStep) as error:
        return rounds, type(error).__name__, str(error)
    return rounds, "", ""


def failing(call: Callable, error: Exception, after: int = 0) -> Callable:
    """`call`, which raises once it has been called `after` times."""
    calls = iter(range(after))

    def raises(*arguments: Any) -> Any:
        if next(calls, None) is None:
            raise error
        return call(*arguments)

    return raises


def bad_forward(engine: ParallelEngine) -> None:
    engine.local.records = failing(engine.local.records, ValueError("a bad forward"), 3)


def no_room(engine: ParallelEngine) -> None:
    engine.local.open = failing(engine.local.open, RuntimeError("out of memory"))


def no_room_to_commit(engine: ParallelEngine) -> None:
    engine.local.open(8, 96, PIPELINED)
    engine.local.space.cache.span = failing(engine.local.space.cache.span, RuntimeError("out of memory"))


def no_number(engine: ParallelEngine) -> None:
    records = engine.local.records
    engine.local.records = lambda window: records(window) * float("nan")


def drift(engine: ParallelEngine) -> None:
    """In its third forward, this rank believes in another token."""
    forward, calls = engine.forward, iter(range(2))

    def drifted(window: Window) -> Observation:
        if next(calls, None) is None:
            window.tokens[0, 0] ^= 1
        return forward(window)

    engine.forward = drifted


def cancel(engine: ParallelEngine) -> None:
    calls = iter((False, False))
    engine.cancelled = lambda: next(calls, True)


# ---- tests -----------------------------------------------------------------------------------------------------------


@cache
def in_one_process(case: str, lookahead: int) -> dict[str, Any]:
    wanted = with_lookahead(case, lookahead)
    return decoded(LocalEngine(network(wanted.model)), wanted)


def with_lookahead(case: str, lookahead: int) -> Case:
    return replace(CASES[case], settings=replace(CASES[case].settings, lookahead=lookahead))


@pytest.mark.parametrize(("case", "ranks", "lookahead"), [(case, *each) for case in CASES for each in (EVERY if case in IN_FULL else SOME)])
def test_any_number_of_ranks_decodes_the_same(group, case, ranks, lookahead):
    wanted = in_one_process(case, lookahead)
    for got in group.run(ranks, in_parallel, with_lookahead(case, lookahead)):
        scores = got.pop("scores")
        assert got == {name: value for name, value in wanted.items() if name != "scores"}
        assert scores == pytest.approx(wanted["scores"], abs=1e-5)


def test_the_cases_ask_something_of_the_ranks():
    """Else the test above would prove little: many branches, several commits, lookaheads that win."""
    for case in CASES:
        rounds = in_one_process(case, 8)["rounds"]
        assert max(len(each["tried"]) for each in rounds) >= 4, case
        assert len({each["window"][2] for each in rounds}) >= 3, case
        assert any(each["tried"][each["winner"]] for each in rounds), case


@pytest.mark.parametrize("ranks", (2, 4))
def test_all_ranks_run_the_lanes_of_a_race_in_the_same_order(group, ranks):
    """The lane that is behind goes next, by clocks that are the same everywhere; the warm-up does not count."""
    everybodys = group.run(ranks, raced)
    assert all(each == everybodys[0] for each in everybodys)
    turns, tokens = everybodys[0]
    assert tokens["lopa"] == list(in_one_process("dream-a-full-0.0", PIPELINED.lookahead)["ids"])
    clocks = dict.fromkeys(tokens, 0.0)
    last = {name: index for index, (name, _) in enumerate(turns)}  # a lane's last round
    for index, (name, clock) in enumerate(turns[6:], start=6):
        assert all(clocks[name] <= clocks[other] for other in tokens if last[other] > index)
        clocks[name] = clock


def test_rows_clock_and_bytes(group):
    told = group.run(3, figures)
    rounds, _ = told[0]
    assert all(each == rounds for each, _ in told)  # the clock to its last digit: it decides which lane is next
    assert all(rows == list(range(branches)) for branches, rows, _ in rounds)
    clocks = [clock for _, _, clock in rounds]
    assert clocks[0] > 0 and clocks == sorted(clocks)
    assert all(0 < sent < 2048 * len(rounds) for _, sent in told)


@pytest.mark.parametrize("rank", (0, 1, 3))
@pytest.mark.parametrize(
    ("change", "kind", "own", "others"),
    [
        (bad_forward, "ValueError", "a bad forward", "rank {} failed"),
        (no_room, "RuntimeError", "out of memory", "rank {} failed"),
        (drift, "RankFailed", "drifted apart", "drifted apart"),
    ],
)  # fmt: skip
def test_what_fails_on_one_rank_ends_all_in_the_same_round(group, rank, change, kind, own, others):
    ended = group.run(4, in_trouble, change, rank)
    assert len({rounds for rounds, _, _ in ended}) == 1
    for index, (_, name, words) in enumerate(ended):
        assert name == (kind if index == rank else "RankFailed")
        assert (own if index == rank else others.format(rank)) in words
    assert_works(group)


@pytest.mark.parametrize("rank", (0, 1, 3))
def test_a_cancel_on_one_rank_ends_all_in_the_same_round(group, rank):
    assert group.run(4, in_trouble, cancel, rank) == [(2, "Cancelled", "")] * 4
    assert_works(group)


def assert_works(group: Ranks) -> None:
    """The group has survived what was done to it."""
    wanted = in_one_process("dream-a-full-0.0", 4)["ids"]
    assert [each["ids"] for each in group.run(4, in_parallel, with_lookahead("dream-a-full-0.0", 4))] == [wanted] * 4


def test_what_is_not_a_number_is_found_out_on_all_ranks(group):
    ended = group.run(2, in_trouble, no_number, 0)
    assert {name for _, name, _ in ended} == {"ModelError"} and "not a number" in ended[1][2]


# ---- ranks that differ: told by all of them, in a process that lives on ------------------------------------------------


def narrow(group: dist.ProcessGroup, rank: int) -> tuple[str, str]:
    """A decode of which `rank` runs in bf16 what the others do in fp32."""
    dtype = torch.bfloat16 if dist.get_rank(group) == rank else torch.float32
    return ended(ParallelEngine(LocalEngine(conformance_network("dream-a", dtype=dtype)), group, ()), PIPELINED)


def asked_otherwise(group: dist.ProcessGroup, rank: int) -> tuple[str, str]:
    """Of which `rank` is asked for much more than the others."""
    settings = replace(PIPELINED, max_new_tokens=96, lookahead=8) if dist.get_rank(group) == rank else PIPELINED
    return ended(ParallelEngine(LocalEngine(network("dream-a")), group, ()), settings)


def with_other_records(group: dist.ProcessGroup, rank: int, change: str) -> tuple[str, str]:
    """Of which `rank` makes records that are narrower, or fewer."""
    engine = ParallelEngine(LocalEngine(network("dream-a")), group, ())
    records, changes = engine.local.records, {"bf16": lambda each: each.bfloat16(), "fewer": lambda each: each[:, 1:]}
    if engine.rank == rank:
        engine.local.records = lambda window: changes[change](records(window))
    return ended(engine, PIPELINED)


def far_apart(group: dist.ProcessGroup, rank: int) -> tuple[str, str]:
    """Of which `rank` believes from its third round on that a single slot is asked about, which takes far less room."""
    engine, calls = ParallelEngine(LocalEngine(network("dream-a")), group, ()), iter(range(2))
    forward = engine.forward

    def drifted(window: Window) -> Observation:
        if next(calls, None) is None:
            columns, queries = ask(np.zeros(1, dtype=int), np.zeros(1, dtype=int), len(window.tokens))
            window = replace(window, columns=columns, queries=queries)
        return forward(window)

    if engine.rank == rank:
        engine.forward = drifted
    return ended(engine, replace(PIPELINED, max_new_tokens=96, tau_add=0.0))


def ended(engine: Engine, settings: DecodeSettings) -> tuple[str, str]:
    """Name and words of what a decode ended with."""
    try:
        for _ in decode(PROMPT, engine, settings):
            pass
    except (RuntimeError, ValueError, Cancelled, OutOfStep) as error:
        return type(error).__name__, str(error)
    return "", ""


@pytest.mark.parametrize("rank", (0, 1))
@pytest.mark.parametrize(
    ("job", "words"),
    [(narrow, "dtype is bfloat16 on rank {} and float32 on"), (asked_otherwise, "request is "), (far_apart, "drifted apart")],
)
def test_ranks_that_differ_say_so_and_live_on(group, job, words, rank):
    told = group.run(3, job, rank)
    assert all(kind == "RankFailed" and words.format(rank) in each for kind, each in told)
    assert_works(group)


@pytest.mark.parametrize("rank", (0, 1))
@pytest.mark.parametrize("change", ("bf16", "fewer"))
def test_records_of_another_shape_are_found_out_before_they_cross(group, change, rank):
    told = group.run(2, with_other_records, rank, change)
    assert told[rank][0] == "RuntimeError" and "in torch.float32" in told[rank][1]
    assert told[1 - rank] == ("RankFailed", f"rank {rank} failed")
    assert_works(group)


def in_small_packets(group: dist.ProcessGroup, case: Case) -> tuple[dict[str, Any], int]:
    """A decode whose packets have room for a few records only; and how often that was not enough."""
    usual, packet.MOST, calls = packet.MOST, 32, []
    try:
        engine = ParallelEngine(LocalEngine(network(case.model)), group, ())
        gather = engine.gather
        engine.gather = lambda mine: calls.append(len(mine)) or gather(mine)
        told = decoded(engine, case)
        return told, len(calls) - 1 - len(told["rounds"])
    finally:
        packet.MOST = usual


def test_records_that_find_no_room_follow(group):
    case = replace(with_lookahead("dream-a-full-0.0", 8))
    wanted = decoded(LocalEngine(network("dream-a")), case)
    for told, more in group.run(2, in_small_packets, case):
        assert (told["ids"], told["rounds"]) == (wanted["ids"], wanted["rounds"]) and 0 < more <= len(wanted["rounds"])


def test_a_rank_that_fails_where_it_cannot_tell_is_out_of_step(group):
    """Its process then ends, so that its peers do not wait."""
    assert group.run(1, in_trouble, no_room_to_commit, 0) == [(0, "OutOfStep", "out of memory")]
