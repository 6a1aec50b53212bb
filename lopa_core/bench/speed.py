"""Tokens per second on one device: confidence decoding, LoPA with more and more branches, and the plain loop it is usually written as.

Every lane decodes a problem before the next problem comes, and all of it is repeated, so that a drift of the machine's
speed meets all lanes. Seconds are the sum over the problems of each one's median over the repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from ..decode.settings import DecodeSettings
from ..model.checkpoint import load
from ..model.network import Transformer
from ..model.prepack import prepacked
from ..runtime.local import LocalEngine
from ..runtime.race import warm_up
from ..runtime.session import LocalModel
from ..tasks.problem import Problem, is_correct
from ..trace.metrics import Metrics, measure, tokens_to_eos, total
from ..trace.recorder import Recorder
from ..trace.trace import first_end
from .plain_loop import check_plain, decode_plainly

BASELINE, PLAIN, MOST, WHOLE = "k0", "plain_loop", "k7", "k7_window"
REACH = "masks"  # of the branches: the fewest columns
POINTS = 1.0  # of accuracy that a LoPA may lie below the baseline and still be compared with it


@dataclass(slots=True)
class Lane:
    """A decoder, and what it took: of every problem one Metrics per repeat. plain: by the plain loop. ids: what it wrote, a
    problem each; same: on how many of them fp32 writes the same, None where that is what was run."""

    settings: DecodeSettings
    plain: bool = False
    right: int = 0
    same: int | None = None
    ids: list[tuple[int, ...]] = field(default_factory=list)
    runs: list[list[Metrics]] = field(default_factory=list)

    def typical(self) -> Metrics:
        """Counts and median seconds, summed over the problems."""
        return total(
            replace(of[0], seconds=median(each.seconds for each in of), network_seconds=median(each.network_seconds for each in of))
            for of in self.runs
        )

    def as_dict(self) -> dict[str, float]:
        sums, count = self.typical(), len(self.runs)
        same = {} if self.same is None else {"same_ids_as_fp32": 100 * self.same / count}
        return {
            "tokens_per_second": sums.tokens_per_second, "rounds": sums.rounds, "rounds_per_second": sums.rounds / sums.seconds,
            "seconds": sums.seconds, "seconds_in_network": sums.network_seconds, "share_in_network": sums.network_share,
            "tokens": sums.tokens, "branch_forwards": sums.branch_forwards, "accuracy": 100 * self.right / count,
        } | same  # fmt: skip


def lanes(settings: DecodeSettings) -> dict[str, Lane]:
    """What is compared, made of a model's `settings`: branches reach the masks of one block; over their whole window, as in
    the paper, they are run by us and by the plain loop. Raises SettingsError for settings that the plain loop does not know."""
    whole = replace(settings, lookahead=7, reach="window")
    check_plain(whole)
    lopa = {f"k{number}": Lane(replace(settings, lookahead=number, reach=REACH)) for number in (1, 2, 3, 7)}
    others = {"adaptive": Lane(replace(settings.decoder("adaptive-lopa"), reach=REACH)), WHOLE: Lane(whole), PLAIN: Lane(whole, plain=True)}
    return {BASELINE: Lane(settings.decoder("confidence")), **lopa, **others}


def run(
    model: LocalModel, problems: Sequence[Problem], lanes: dict[str, Lane], repeats: int, progress: Callable[[], object] = lambda: None
) -> None:
    """Fill the lanes; `progress` is called after each decode."""
    prompts = [model.encode(problem.question) for problem in problems]
    engine, loaded = LocalEngine(model.network), as_loaded(model)
    for lane in lanes.values():
        warm_up(Recorder(prompts[0], engine, lane.settings))
        lane.runs += [[] for _ in problems]
    for repeat in range(repeats):
        for index, (prompt, problem) in enumerate(zip(prompts, problems)):
            for lane in lanes.values():
                ids, metrics = plainly(loaded, prompt, lane.settings) if lane.plain else ours(model, engine, prompt, lane.settings)
                lane.runs[index].append(metrics)
                if repeat == 0:
                    lane.ids.append(tuple(ids))
                    lane.right += is_correct(text(model, ids, lane.settings), problem)
                progress()


def compare(exact: LocalModel, problems: Sequence[Problem], lanes: dict[str, Lane]) -> None:
    """Count on how many problems `exact`, the same model in fp32, writes what each lane has written."""
    engine = LocalEngine(exact.network)
    for lane in lanes.values():
        prompts = (exact.encode(problem.question) for problem in problems)
        lane.same = sum(tuple(ours(exact, engine, prompt, lane.settings)[0]) == ids for prompt, ids in zip(prompts, lane.ids))


def ours(model: LocalModel, engine: LocalEngine, prompt: list[int], settings: DecodeSettings) -> tuple[Sequence[int], Metrics]:
    recorder = Recorder(prompt, engine, settings)
    recorder.run()
    return recorder.tokens, measure(recorder.trace(model=model.name, decoder="", prompt="", tokenizer=None, hardware=""))


def as_loaded(model: LocalModel) -> Transformer:
    """The network without the layout of its matrices, which is part of our speed: what the plain loop runs."""
    if not prepacked(model.network):
        return model.network
    checkpoint = model.source.fetch()
    return load(checkpoint.folder, adapter=checkpoint.adapter, device=model.network.device, dtype=model.network.dtype)


def plainly(network: Transformer, prompt: list[int], settings: DecodeSettings) -> tuple[Sequence[int], Metrics]:
    told, config = decode_plainly(network, prompt, settings), network.config
    tokens = tokens_to_eos(told.ids, settings.ends(config), config.mask_id)
    written = len(told.ids) - told.ids.count(config.mask_id)
    return told.ids, Metrics(told.rounds, told.branch_forwards, tokens, written, told.seconds, told.seconds_in_network)


def text(model: LocalModel, ids: Sequence[int], settings: DecodeSettings) -> str:
    known = ids[: first_end(ids, settings.ends(model.config))]
    return model.tokenizer.decode([token for token in known if token != model.config.mask_id])


def ratios(told: dict[str, dict[str, float]]) -> dict[str, Any]:
    """Of tokens per second; the best LoPA is the fastest one within POINTS of the baseline's accuracy, None where none is."""
    speed = {name: lane["tokens_per_second"] for name, lane in told.items()}
    near = [
        name for name, lane in told.items()
        if name not in (BASELINE, PLAIN) and lane["accuracy"] >= told[BASELINE]["accuracy"] - POINTS
    ]  # fmt: skip
    best = max(near, key=speed.get, default=None)
    return {
        "k7_to_plain_loop": speed[MOST] / speed[PLAIN],
        "k7_window_to_plain_loop": speed[WHOLE] / speed[PLAIN],
        "best_lopa": best,
        "best_lopa_to_baseline": speed[best] / speed[BASELINE] if best else None,
    }
