"""Whether a trace that was read agrees with itself and keeps within bounds. Types were checked before.

A trace file comes from anybody, and a page draws what it says: every index must lie in range, every number must be
finite, every text must be one that UTF-8 can carry.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from .trace import Trace, TraceBranch, TraceRound, TraceSeen

MOST_TRACES, MOST_SLOTS, MOST_ROUNDS, MOST_BRANCHES = 8, 4096, 8400, 130  # what DecodeSettings allows, and its rounds
LONGEST_TEXT, LONGEST_PIECE, LONGEST_NAME = 100_000, 400, 300
HIGHEST_ID = 2**24


class TraceError(ValueError):
    """A file that is no trace; the message is for a person."""


def check(trace: Trace) -> None:
    """Raise TraceError where parts of `trace` contradict each other or are out of bounds."""
    check_settings(trace)
    slots = trace.slots
    if len(trace.tokens) > slots or len(trace.rounds) > MOST_ROUNDS:
        raise TraceError(
            f"The trace has {len(trace.tokens)} tokens in {slots} slots and {len(trace.rounds)} rounds; {MOST_ROUNDS} can be shown."
        )
    if len(trace.texts) not in (0, len(trace.tokens)):
        raise TraceError(f"The trace has {len(trace.tokens)} tokens but {len(trace.texts)} texts.")
    if any(not 0 <= index < MOST_ROUNDS or not 0 <= branch < MOST_BRANCHES for index, branch in trace.forced):
        raise TraceError("The trace names a forced branch that cannot be.")
    check_texts(trace)
    ids(trace.tokens, "tokens")
    ids([*trace.pieces, *trace.special, trace.mask_id, *trace.end_ids], "special tokens")
    for index, each in enumerate(trace.rounds):
        check_round(index, each, slots, len(trace.devices))
    if any(after.seconds < before.seconds for before, after in zip(trace.rounds, trace.rounds[1:])):
        raise TraceError("The rounds' seconds run backwards.")
    check_commits(trace)


def check_settings(trace: Trace) -> None:
    """The settings are shown, and the canvas is laid out in their blocks."""
    if len(trace.settings) > 120 or not all(isinstance(value, (str, int, float, type(None))) for value in trace.settings.values()):
        raise TraceError("The settings are not a list of plain values.")
    finite([value for value in trace.settings.values() if isinstance(value, float)], "The settings")
    size = whole(trace, "block_size", 1)
    whole(trace, "max_new_tokens", size)


def whole(trace: Trace, name: str, least: int) -> int:
    value = trace.settings.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MOST_SLOTS:
        raise TraceError(f"The settings name no usable {name} but {str(value)[:20]!r}.")
    return value


def check_texts(trace: Trace) -> None:
    values = [value for value in trace.settings.values() if isinstance(value, str)]
    names = [trace.model, trace.decoder, trace.reason, trace.hardware, trace.recorded, *trace.devices, *trace.settings, *values]
    pieces = [*trace.pieces.values(), *(text for text in trace.texts if text)]
    for texts, longest in (([trace.prompt, trace.text], LONGEST_TEXT), (names, LONGEST_NAME), (pieces, LONGEST_PIECE)):
        for text in texts:
            if len(text) > longest:
                raise TraceError(f"A text of {len(text)} characters stands where up to {longest} can be shown: {text[:20]!r}….")
            try:
                text.encode("utf-8")
            except UnicodeEncodeError:
                raise TraceError(f"A text holds half a character: {text[:20]!r}.") from None


def check_round(index: int, each: TraceRound, slots: int, devices: int) -> None:
    if not 1 <= len(each.branches) <= MOST_BRANCHES:
        raise TraceError(f"Round {index} has {len(each.branches)} branches; 1 to {MOST_BRANCHES} can be shown.")
    if not 0 <= each.winner < len(each.branches):
        raise TraceError(f"Round {index} names branch {each.winner} of {len(each.branches)} the winner.")
    for branch in each.branches:
        check_branch(index, branch, slots)
    seen = each.best.seen
    if seen is None or any(not 0 <= i < len(seen.slots) for i in each.filled):
        raise TraceError(f"Round {index} fills a slot that its winner did not look at.")
    if not 0 <= each.copies < HIGHEST_ID:
        raise TraceError(f"Round {index} has {each.copies} copies.")
    finite([each.seconds, each.network_seconds], f"Round {index}")
    for span in each.spans:
        finite([span.start, span.end], f"Round {index}")
        if not 0 <= span.device < devices or any(not 0 <= row < len(each.branches) for row in span.rows):
            raise TraceError(f"Round {index} ran on a device or a row that the trace does not have.")


def check_branch(index: int, branch: TraceBranch, slots: int) -> None:
    tried = (branch.slot, branch.token, branch.probability)
    if None in tried and tried != (None, None, None):
        raise TraceError(f"Round {index} has a lookahead without a slot, a token or a probability.")
    if branch.more and branch.slot is None:
        raise TraceError(f"Round {index} has an anchor that tries a token.")
    if len(branch.more) > slots:
        raise TraceError(f"Round {index} has a branch that tries {len(branch.more)} tokens in {slots} slots.")
    finite([branch.score, branch.probability or 0.0], f"Round {index}")
    if branch.slot is not None:
        check_seen(index, TraceSeen(*zip((branch.slot, branch.token, branch.probability), *branch.more)), slots)
    if branch.seen:
        check_seen(index, branch.seen, slots)
        if branch.masks_left != len(branch.seen.slots):
            raise TraceError(
                f"Round {index} has a branch with {branch.masks_left} masks left that looked at {len(branch.seen.slots)} slots."
            )


def check_seen(index: int, seen: TraceSeen, slots: int) -> None:
    if not len(seen.slots) == len(seen.tokens) == len(seen.probabilities):
        raise TraceError(f"Round {index} has {len(seen.slots)} slots but {len(seen.tokens)} tokens.")
    if any(not 0 <= slot < slots for slot in seen.slots):
        raise TraceError(f"Round {index} looks at a slot outside the canvas.")
    ids(seen.tokens, f"Round {index}")
    finite(seen.probabilities, f"Round {index}")


def check_commits(trace: Trace) -> None:
    """Only masks are written and only what is written is taken back; what stands at the end is what was written last."""
    standing: dict[int, tuple[int, int]] = {}
    for index, each in enumerate(trace.rounds):
        for slot, token, _ in each.committed:
            if slot in standing:
                raise TraceError(f"Round {index} writes slot {slot}, which is written already.")
            standing[slot] = index, token
        for slot in each.taken:
            if standing.pop(slot, None) is None:
                raise TraceError(f"Round {index} takes back slot {slot}, where nothing is written.")
    for slot, (index, token) in standing.items():
        if trace.tokens[slot : slot + 1] != (token,):
            raise TraceError(f"Round {index} writes slot {slot}, which ends with another token.")


def ids(tokens: Iterable[int], where: str) -> None:
    if any(not 0 <= token < HIGHEST_ID for token in tokens):
        raise TraceError(f"{where}: a token id lies outside 0 to {HIGHEST_ID}.")


def finite(numbers: Iterable[float], where: str) -> None:
    if not all(math.isfinite(number) and abs(number) < 1e9 for number in numbers):
        raise TraceError(f"{where}: a number is not finite.")
