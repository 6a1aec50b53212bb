"""What earlier rounds leave for the next one: along the winners' path, and so common to all branches."""

from __future__ import annotations

import numpy as np

from .observation import Observation
from .rules.credit import Ledger
from .rules.klass import Steady
from .rules.leap import Before
from .rules.registry import NONE, REMASKINGS, SELECTIONS, columns
from .rules.saber import Course
from .settings import DecodeSettings


class Past:
    """The memories that the settings' rules need; none for most.

    in_engine: whether the engine has to remember the winner's distributions. follows_logits: whether a slot's record depends on
    earlier rounds' logits of that slot, so that one kept from an earlier round is not what this round would say.
    """

    def __init__(self, length: int, settings: DecodeSettings) -> None:
        self.in_engine = "divergences" in columns(settings)
        self.credit = Ledger(settings) if settings.credit_alpha > 0 else None
        steady = Steady(length, settings) if self.in_engine else None
        self.before = Before() if SELECTIONS[settings.selection].futures else None
        followed = SELECTIONS[settings.selection].course or (settings.remask != NONE and REMASKINGS[settings.remask].course)
        self.course = Course() if followed else None
        self.follows_logits = self.in_engine or self.credit is not None
        self.memories = [memory for memory in (self.credit, steady, self.before, self.course) if memory]

    def tell(self, slots: np.ndarray, seen: Observation) -> Observation:
        """Remember what the winner said of its masked slots; returns it with what its rules need from before."""
        for memory in self.memories:
            seen = memory.tell(slots, seen)
        return seen

    def reread(self, slots: np.ndarray, seen: Observation) -> Observation:
        """What is said of written slots, with what is known of them from before."""
        return self.course.reread(slots, seen) if self.course else seen

    def wrote(self, slots: np.ndarray, probabilities: np.ndarray) -> None:
        """Remember how probable tokens were when they were written."""
        if self.course:
            self.course.wrote(slots, probabilities)
