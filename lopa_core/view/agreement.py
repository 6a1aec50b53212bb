"""Whether lanes wrote the same text, and what a choice made by hand changed: a sentence per lane beside LoPA's."""

from __future__ import annotations

from collections.abc import Sequence

from ..trace.trace import Trace
from .direction import apart
from .lanes import Lane, branch_name, pair

QUOTED = 28  # characters shown on either side of the place where two texts part


def agreement(shown: Sequence[Lane]) -> list[str]:
    """The baseline against LoPA first, then every other lane against the lane it is measured by."""
    base, own = pair(shown)
    told = [] if base is own else [both(base, own, "Both" if len(shown) == 2 else f"{base.title} and {own.title}")]
    return told + [beside(lane, reference(lane, shown, own)) for lane in shown if lane not in (base, own)]


def both(base: Lane, own: Lane, who: str) -> str:
    """Two decoders of one prompt. who: the two of them."""
    left, right = base.trace, own.trace
    if "stopped" in (left.reason, right.reason):
        return "Not both had ended, so their texts are not compared."
    if same(left, right):
        return f"{who} wrote the same {kind(left, right)}."
    whose = "" if who == "Both" else f" of {who}"
    parted = parting(left, right)
    if not parted:
        return f"The tokens{whose} differ."
    return f"The texts{whose} differ. {parted[0]} one goes on {parted[1]} and the other {parted[2]}."


def reference(lane: Lane, shown: Sequence[Lane], own: Lane) -> Lane:
    """A what-if is measured by the same decoder left alone where it is there, everything else by LoPA."""
    alone = (each for each in shown if not each.trace.forced and each.trace.decoder == lane.trace.decoder)
    return next(alone, own) if lane.trace.forced else own


def beside(lane: Lane, other: Lane) -> str:
    """A further lane against the one it is measured by."""
    trace = lane.trace
    if trace.reason == "stopped" or other.trace.reason == "stopped":
        return f"{lane.title} and {other.title} had not both ended, so they are not compared."
    few, many = len(trace.rounds), len(other.trace.rounds)
    if trace.forced:
        told = f"Had {choices(trace)}, {other.title} would have needed {counted(few, many)}"
    else:
        told = f"{lane.title} needed {passes(few)}, {other.title} {many}"
    return f"{told}; {wrote(trace, other.trace)}"


def choices(trace: Trace) -> str:
    """The forced branches in words."""
    told = [f"{branch_name(trace, number, branch)} won pass {number + 1}" for number, branch in trace.forced]
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"


def counted(count: int, before: int) -> str:
    return f"{passes(count)} all the same" if count == before else f"{passes(count)} instead of {before}"


def passes(count: int) -> str:
    return f"{count} forward pass{'' if count == 1 else 'es'}"


def wrote(trace: Trace, other: Trace) -> str:
    """How the further lane's text compares, as the end of a sentence."""
    if same(trace, other):
        return f"it writes the same {kind(trace, other)}."
    parted = parting(other, trace)
    if not parted:
        return "it writes other tokens."
    return f"it writes another text: {parted[0][0].lower()}{parted[0][1:]} it goes on {parted[2]} instead of {parted[1]}."


def same(left: Trace, right: Trace) -> bool:
    if left.text or right.text:
        return left.text.strip() == right.text.strip()
    return left.ids == right.ids  # a model without a tokenizer


def kind(left: Trace, right: Trace) -> str:
    return "text" if left.text or right.text else "tokens"


def parting(left: Trace, right: Trace) -> tuple[str, str, str] | None:
    """(where the texts part, how the left one goes on, how the right one does); None without texts."""
    if not (left.text or right.text):
        return None
    one, two = left.text.strip(), right.text.strip()
    shared = next((i for i, (a, b) in enumerate(zip(one, two)) if a != b), min(len(one), len(two)))
    whole = {one[shared : shared + 1], two[shared : shared + 1]} <= {" ", ""}
    start = shared if whole else one.rfind(" ", 0, shared) + 1  # quote whole words
    before = one[max(0, start - QUOTED) : start].partition(" ")[2].strip() if start > QUOTED else one[:start].strip()
    here = "After " + apart(f"“{'…' if start > QUOTED else ''}{before}”") if before else "From the start"
    return here, quote(one[start:].strip()), quote(two[start:].strip())


def quote(text: str) -> str:
    if not text:
        return "(nothing)"
    flat = text.replace("\n", "↵")
    return apart(f"“{flat if len(flat) <= QUOTED else flat[:QUOTED] + '…'}”")
