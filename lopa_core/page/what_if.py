"""What if another branch had won? The same decode again, with that branch forced, as one more lane."""

from __future__ import annotations

from collections.abc import Sequence

from ..decode.settings import DecodeSettings, SettingsError
from ..runtime.race import Race
from ..runtime.session import Model
from ..trace.trace import Trace
from .run import Running
from .shelf import PageError, Shelf, encode


class WhatIf(Running):
    """The other future of one lane. The rounds before the fork are decoded again, which rebuilds the cache."""

    def __init__(self, model: Model, original: Trace, race: Race, before: Sequence[Trace], fork: int) -> None:
        super().__init__(model, original.prompt, race, before)
        self.original, self.fork = original, fork

    def remark(self) -> str:
        (again,) = self.model.traces(self.race, self.prompt)
        pairs = list(zip(again.rounds, self.original.rounds))[: self.fork]
        if all(new.written == old.written for new, old in pairs):
            return ""
        return "Up to that pass this machine decodes differently than the recording's did, so the two futures part earlier."


def what_if(shelf: Shelf, traces: Sequence[Trace] | None, lane: int, round_index: int, branch: int) -> WhatIf:
    """Line up the future in which `branch` wins round `round_index` of a lane. Earlier what-ifs make way for it.

    Raises PageError, SettingsError, ModelError.
    """
    if not traces or not 0 <= lane < len(traces):
        raise PageError("There is no such lane any more: run or open something first.")
    original = traces[lane]
    if not 0 <= round_index < len(original.rounds) or not 0 <= branch < len(original.rounds[round_index].branches):
        raise PageError("There is no such branch on screen.")
    model = shelf.take(original.model)
    forced = dict(original.forced) | {round_index: branch}
    try:
        settings = DecodeSettings(**original.settings)
    except TypeError:
        raise SettingsError("This trace's settings are those of another version, so it cannot be decoded on from.") from None
    race = model.race(encode(model, original.prompt), {original.decoder: settings}, forced)
    return WhatIf(model, original, race, [trace for trace in traces if not trace.forced], round_index)
