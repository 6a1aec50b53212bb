"""The numbers of a decode, each defined once. Sums over sums, never means of ratios."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, astuple, dataclass

from .trace import Trace, first_end

DEFINITIONS = {
    "rounds": "forward passes: all branches of a round are one batched forward",
    "branch_forwards": "rows run: branches summed over the rounds",
    "tokens": "generated tokens up to and including the first end-of-text; masked slots are not tokens",
    "slots_written": "all slots decided, also those behind the end of the text; one taken back and written again counts twice",
    "tpf": "tokens / rounds",
    "seconds": "on the decode's own clock, from the first round's start to the last one's end, after a warm-up",
    "tokens_per_second": "tokens / seconds",
    "network_share": "share of the seconds inside the network's forward",
    "extra_tokens": "superposed copies read beyond the windows, over all rows and rounds",
    "taken_back": "slots that were written and became masks again",
}


@dataclass(frozen=True, slots=True)
class Metrics:
    """Counts and times of one decode, or their sums over several. See DEFINITIONS."""

    rounds: int
    branch_forwards: int
    tokens: int
    slots_written: int
    seconds: float
    network_seconds: float
    extra_tokens: int = 0
    taken_back: int = 0

    @property
    def tpf(self) -> float:
        return self.tokens / self.rounds if self.rounds else 0.0

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds if self.seconds else 0.0

    @property
    def network_share(self) -> float:
        return self.network_seconds / self.seconds if self.seconds else 0.0

    def as_dict(self) -> dict[str, float]:
        ratios = {"tpf": self.tpf, "tokens_per_second": self.tokens_per_second, "network_share": self.network_share}
        return asdict(self) | ratios


def measure(trace: Trace) -> Metrics:
    """The metrics of one trace."""
    return Metrics(
        rounds=len(trace.rounds),
        branch_forwards=sum(len(each.branches) for each in trace.rounds),
        tokens=tokens_to_eos(trace.tokens, trace.end_ids, trace.mask_id),
        slots_written=sum(len(each.committed) for each in trace.rounds),
        seconds=trace.rounds[-1].seconds if trace.rounds else 0.0,
        network_seconds=sum(each.network_seconds for each in trace.rounds),
        extra_tokens=sum(each.copies for each in trace.rounds),
        taken_back=sum(len(each.taken) for each in trace.rounds),
    )


def progress(trace: Trace) -> list[tuple[int, float]]:
    """(tokens, seconds), as defined above, after every round: what a viewer counts up."""
    tokens = [trace.mask_id] * trace.slots
    told = []
    for each in trace.rounds:
        for slot, token, _ in each.committed:
            tokens[slot] = token
        for slot in each.taken:
            tokens[slot] = trace.mask_id
        told.append((tokens_to_eos(tokens, trace.end_ids, trace.mask_id), each.seconds))
    return told


def total(metrics: Iterable[Metrics]) -> Metrics:
    """Sums, so that ratios are sums over sums."""
    rows = [astuple(each) for each in metrics]
    return Metrics(*(sum(column) for column in zip(*rows))) if rows else Metrics(0, 0, 0, 0, 0.0, 0.0)


def tokens_to_eos(tokens: Sequence[int], end_ids: Collection[int], mask_id: int) -> int:
    """Tokens up to and including the first end of the text, masked slots not counted."""
    known = tokens[: first_end(tokens, end_ids) + 1]
    return len(known) - known.count(mask_id)
