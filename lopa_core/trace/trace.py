"""What happened in one decode, as plain typed data: everything a person sees is made from this.

Slots are counted from the first one behind the prompt. Times are seconds on the decode's own clock, which stands
still while something else runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TraceBranch:
    """One branch of a round. slot, token, probability: what a lookahead tried; None for the anchor."""

    score: float
    masks_left: int
    slot: int | None = None
    token: int | None = None
    probability: float | None = None

    @property
    def anchor(self) -> bool:
        return self.slot is None


@dataclass(frozen=True, slots=True)
class TraceRound:
    """One forward pass.

    slots, tokens, probabilities: the winner's masked slots before the fill with their predictions; filled: indices
    into them that were written. start, end: window of slots read (start can be negative: the prompt's end).
    seconds: when the round was over; network_seconds: time inside the network during it.
    """

    branches: tuple[TraceBranch, ...]
    winner: int
    slots: tuple[int, ...]
    tokens: tuple[int, ...]
    probabilities: tuple[float, ...]
    filled: tuple[int, ...]
    start: int
    end: int
    seconds: float
    network_seconds: float

    @property
    def brought(self) -> TraceBranch | None:
        """The winning lookahead, whose tried token is committed in this round; None if the anchor won."""
        best = self.branches[self.winner]
        return None if best.anchor else best

    @property
    def committed(self) -> tuple[tuple[int, int, float], ...]:
        """(slot, token, probability) of every token committed in this round, the lookahead's first."""
        filled = tuple((self.slots[i], self.tokens[i], self.probabilities[i]) for i in self.filled)
        best = self.brought
        return filled if best is None else ((best.slot, best.token, best.probability), *filled)


@dataclass(frozen=True, slots=True)
class Trace:
    """One decode. tokens: all generated slots; reason: `complete`, `eos`, `round limit` or `stopped` (unfinished).

    pieces: display text of every token id that occurs. hardware, recorded: where and when (ISO 8601, UTC).
    """

    model: str
    decoder: str
    settings: dict[str, object]
    prompt: str
    prompt_tokens: int
    eos_id: int | None
    mask_id: int
    rounds: tuple[TraceRound, ...]
    tokens: tuple[int, ...]
    reason: str
    text: str
    hardware: str
    recorded: str
    pieces: dict[int, str] = field(default_factory=dict)

    @property
    def ids(self) -> tuple[int, ...]:
        """Generated token ids; cut behind the first end-of-text where the settings stop there."""
        if self.settings.get("stop_at_eos") and self.eos_id in self.tokens:
            return self.tokens[: self.tokens.index(self.eos_id) + 1]
        return self.tokens
