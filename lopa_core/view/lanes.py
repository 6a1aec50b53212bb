"""What a trace is among the others on a page: its role, its title and its accent; and how its branches are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from ..trace.trace import Trace
from .direction import apart

TITLES = {
    "vanilla": "One token per pass", "confidence": "Confidence decoding", "lopa": "LoPA", "lopa-paper": "LoPA, as published",
    "adaptive-lopa": "LoPA, adaptive",
    "lopa+leap": "LoPA with LEAP", "leap": "LEAP", "factor": "Fast-dLLM factor",
    "entropy-bound": "Entropy bound", "klass": "KLASS", "credit": "CreditDecoding", "local-leap": "LocalLeap", "prophet": "Prophet",
    "freedave": "FreeDave", "freedave++": "FreeDave++", "wino": "WINO", "saber": "Saber", "ripple-pivot": "Ripple-Pivot",
}  # fmt: skip
WHAT_IF = "What if"
# mid-tones that stand out on white and on near-black; the style sheet has the same accents
ACCENTS = {"baseline": "#5b80bd", "lopa": "#db7b0e", "whatif": "#8a63c9", "other": "#2f9e8f"}
BRANCH_CONFIDENCE = ("branch confidence", 3)
SCORES = {"draft": ("steps ahead", 0), "pivot": ("score", 3)}  # by branching rule, where it is another thing
LONGEST_TITLE, LONGEST_PIECE = 24, 40  # characters; a file may name a decoder as it likes


@dataclass(frozen=True, slots=True)
class Lane:
    """A trace in its place. index: in the list of traces; title: plain text."""

    index: int
    trace: Trace
    role: str
    title: str

    @property
    def accent(self) -> str:
        return ACCENTS[self.role]

    @property
    def label(self) -> str:
        """The title where Plotly reads a little HTML."""
        return escape(self.title)


def lanes(traces: Sequence[Trace]) -> list[Lane]:
    """Every trace with its role and its title."""
    return [Lane(*each) for each in zip(range(len(traces)), traces, roles(traces), titles(traces))]


def roles(traces: Sequence[Trace]) -> list[str]:
    """What each is here: "whatif" with forced choices, "lopa" the first LoPA, "baseline" the first of the rest, or "other"."""
    taken: list[str] = []
    for trace in traces:
        own = "whatif" if trace.forced else "lopa" if trace.decoder == "lopa" else "baseline"
        taken.append(own if own == "whatif" or own not in taken else "other")
    return taken


def titles(traces: Sequence[Trace]) -> list[str]:
    """Titles of the known decoders, an unknown one's own name; numbered where two would read alike."""
    told: list[str] = []
    for trace in traces:
        name = WHAT_IF if trace.forced else TITLES.get(trace.decoder, trace.decoder or "Unnamed decoder")
        title = shortened(name, LONGEST_TITLE)
        numbered = (title if number == 1 else f"{title} {number}" for number in range(1, len(traces) + 1))
        told.append(next(each for each in numbered if each not in told))
    return told


def pair(shown: Sequence[Lane]) -> tuple[Lane, Lane]:
    """The two lanes that a result is about: the baseline, and LoPA or what stands in its place; one lane twice if there is no other."""
    first = {lane.role: lane for lane in reversed(shown)}
    base = first.get("baseline")
    own = first.get("lopa") or first.get("other") or base or shown[0]
    return base or own, own


def looks_ahead(trace: Trace) -> bool:
    """Whether there are lookahead branches, or may be once there are rounds."""
    asked = trace.settings.get("lookahead")
    return (isinstance(asked, int) and asked > 0) or any(not branch.anchor for each in trace.rounds for branch in each.branches)


def score_words(trace: Trace) -> tuple[str, int]:
    """What this decoder's branches are weighed by, and with how many decimals it is told."""
    return SCORES.get(str(trace.settings.get("branching")), BRANCH_CONFIDENCE)


def branch_name(trace: Trace, number: int, branch: int) -> str:
    """What a branch of round `number` (from 0) is called: the anchor, or a lookahead by its rank from 1."""
    if number < len(trace.rounds) and branch < len(trace.rounds[number].branches) and trace.rounds[number].branches[branch].anchor:
        return "the anchor"
    return f"lookahead {branch + 1}"


def piece(trace: Trace, token: int | None) -> str:
    """Display text of a token, on one line, in quotes; plain text."""
    text = trace.pieces.get(token)
    return f"token {token}" if text is None else apart(f"“{shortened(text, LONGEST_PIECE)}”".replace("\n", "↵"))


def shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
