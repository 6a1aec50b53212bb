"""What happened in one decode, as plain typed data: everything a person sees is made from this.

Slots are counted from the first one behind the prompt. Times are seconds on the decode's own clock, which stands
still while something else runs. A change of these classes is a new version of the file format: see versions.py.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TraceSeen:
    """A branch's masked slots before the fill, and the prediction of each."""

    slots: tuple[int, ...]
    tokens: tuple[int, ...]
    probabilities: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class TraceBranch:
    """One branch of a round. slot, token, probability: what a lookahead tried; None for the anchor.

    more: (slot, token, probability) of what it tried besides: a draft of several tokens.

    seen is None only for the losers of a trace of version 1, which did not record them.
    """

    score: float
    masks_left: int
    seen: TraceSeen | None
    slot: int | None = None
    token: int | None = None
    probability: float | None = None
    more: tuple[tuple[int, int, float], ...] = ()

    @property
    def anchor(self) -> bool:
        return self.slot is None


@dataclass(frozen=True, slots=True)
class TraceSpan:
    """A device at work on some rows of a round. device: index into Trace.devices; rows: indices of branches."""

    device: int
    rows: tuple[int, ...]
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class TraceRound:
    """One forward pass.

    branches: lookaheads as spawned, the anchor last. filled: indices into the winner's slots that were written.
    start, end: window of slots read (start can be negative: the prompt's end). seconds: when the round was over;
    network_seconds: time inside the network during it; spans: which device worked when. taken: slots written earlier
    that became masks again; copies: superposed tokens read beyond the windows, over all rows.
    """

    branches: tuple[TraceBranch, ...]
    winner: int
    filled: tuple[int, ...]
    start: int
    end: int
    seconds: float
    network_seconds: float
    spans: tuple[TraceSpan, ...] = ()
    taken: tuple[int, ...] = ()
    copies: int = 0

    @property
    def best(self) -> TraceBranch:
        """The winner."""
        return self.branches[self.winner]

    @property
    def brought(self) -> TraceBranch | None:
        """The winning lookahead, whose tried tokens are committed in this round; None if the anchor won."""
        return None if self.best.anchor else self.best

    @property
    def committed(self) -> tuple[tuple[int, int, float], ...]:
        """(slot, token, probability) of every token committed in this round, those that the lookahead brought first."""
        seen = self.best.seen
        filled = tuple((seen.slots[i], seen.tokens[i], seen.probabilities[i]) for i in self.filled)
        brought = self.brought
        return filled if brought is None else ((brought.slot, brought.token, brought.probability), *brought.more, *filled)

    @property
    def brought_count(self) -> int:
        """Tokens that the winning lookahead brought."""
        return 0 if self.brought is None else 1 + len(self.brought.more)

    @property
    def written(self) -> frozenset[tuple[int, int]]:
        """(slot, token) of every token committed in this round."""
        return frozenset((slot, token) for slot, token, _ in self.committed)


@dataclass(frozen=True, slots=True)
class Trace:
    """One decode. tokens: the slots opened, masked ones included, which a finished text may leave fewer than the
    canvas has; reason: `complete`, `eos`, `round limit` or `stopped` (unfinished).

    hardware, recorded: where and when (ISO 8601, UTC); devices: names of those that ran rows.
    end_ids: tokens that end the text. forced: (round, branch) that won there because somebody asked "what if".
    texts: what each slot's token reads as inside the whole text, "" where it is masked, None where it is part of a
    character whose text the next token that has one carries; empty without a tokenizer. pieces: display text of
    every token id that occurs, alone. special: those of them that are special tokens.
    """

    model: str
    decoder: str
    settings: dict[str, object]
    prompt: str
    prompt_tokens: int
    end_ids: tuple[int, ...]
    mask_id: int
    rounds: tuple[TraceRound, ...]
    tokens: tuple[int, ...]
    reason: str
    text: str
    hardware: str
    recorded: str
    devices: tuple[str, ...] = ()
    forced: tuple[tuple[int, int], ...] = ()
    texts: tuple[str | None, ...] = ()
    pieces: dict[int, str] = field(default_factory=dict)
    special: tuple[int, ...] = ()

    @property
    def slots(self) -> int:
        """Slots of the canvas behind the prompt."""
        size = self.settings["block_size"]
        return self.settings["max_new_tokens"] // size * size

    @property
    def ids(self) -> tuple[int, ...]:
        """Generated token ids; cut behind the first end of the text where the settings stop there."""
        return self.tokens[: first_end(self.tokens, self.end_ids) + 1] if self.settings.get("stop_at_eos") else self.tokens


def first_end(tokens: Sequence[int], end_ids: Collection[int]) -> int:
    """Where the text first ends, counted in slots; the number of slots if it does not."""
    return next((place for place, token in enumerate(tokens) if token in end_ids), len(tokens))
