"""The endpoints for programs: decode, compare (streaming), status. Plain JSON in and out; see the page's API view.

Rounds and traces go out as JSON texts: Gradio streams the difference of two messages, and its client cannot apply
that of two lists of which the second is shorter.

Settings are those of decode.settings.DecodeSettings by their names; what is left out is the model's preset.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import gradio as gr

from ..decode.decoders import DECODERS
from ..decode.settings import DecodeSettings, SettingsError
from ..model.errors import ModelError
from ..runtime.race import Race
from ..runtime.session import Model
from ..trace.files import dumps
from ..trace.metrics import measure
from ..trace.trace import Trace, TraceRound
from ..view.state import round_text
from .shelf import PageError, Shelf, cleaned, encode

QUEUE = "model"  # whatever runs the model waits in one line


@dataclass(frozen=True)
class Allowance:
    """What one call may ask of the device that all visitors share. rows: branch forwards, at most; seconds: of decoding."""

    rows: int = 20_000
    seconds: float = 300.0

    def check(self, lanes: Mapping[str, DecodeSettings]) -> None:
        """Raise PageError where these decoders may come to more rows."""
        rows = sum(lane.round_limit * (lane.lookahead + 1) for lane in lanes.values())
        if rows > self.rows:
            raise PageError(
                f"This call may take {rows:,} branch forwards (rounds times branches, over all decoders); {self.rows:,} are allowed "
                "here: ask for fewer max_new_tokens, a smaller lookahead or fewer decoders, or start the app with --api-rows."
            )

    def spend(self, race: Race) -> Iterator[tuple[str, TraceRound | None]]:
        """The race's rounds. Raises PageError where its time is up."""
        end = time.monotonic() + self.seconds
        with closing(race.run()) as rounds:
            for happened in rounds:
                yield happened
                if time.monotonic() > end:
                    raise PageError(
                        f"This call has used up the {self.seconds:g} seconds allowed here: ask for fewer max_new_tokens or decoders, "
                        "or start the app with --api-seconds."
                    )


ALLOWANCE = Allowance()


def publish(shelf: Shelf, allowance: Allowance) -> None:
    """Add the endpoints to the Blocks that is being built."""
    for endpoint in (compare_endpoint(shelf, allowance), decode_endpoint(shelf, allowance)):
        gr.api(endpoint, api_name=endpoint.__name__, concurrency_id=QUEUE, concurrency_limit=1)
    gr.api(status_endpoint(shelf), api_name="status", queue=False)


def compare_endpoint(shelf: Shelf, allowance: Allowance) -> Callable[..., Iterator[dict]]:
    def compare(prompt: str, decoders: str = "confidence,lopa", model: str = "", settings: dict | None = None) -> Iterator[dict]:
        """Decode one prompt with several decoders in turn, streaming a message per forward pass.

        decoders: names with commas between them (vanilla, confidence, lopa, lopa-paper). model: "" is the page's own.
        settings: such as {"lookahead": 4, "tau_conf": 0.9, "max_new_tokens": 64}.
        Messages: {"decoder", "index", "round"} while it runs, the round being JSON text in the trace format; the last one
        is {"results": [text and numbers of each decoder], "trace": JSON text of a trace file}.
        """
        with sentences():
            chosen, text, race = line_up(shelf, allowance, prompt, decoders, model, settings)
            for name, happened in allowance.spend(race):
                if happened is not None:
                    yield {"decoder": name, "index": len(race.tapes[name].rounds) - 1, "round": round_text(happened)}
            traces = chosen.traces(race, text)
            yield {"results": [result(trace) for trace in traces], "trace": dumps(traces)}

    return compare


def decode_endpoint(shelf: Shelf, allowance: Allowance) -> Callable[..., dict]:
    def decode(prompt: str, decoder: str = "lopa", model: str = "", settings: dict | None = None) -> dict:
        """Decode one prompt with one decoder: its text, token ids and numbers. Parameters as for /compare."""
        with sentences():
            chosen, text, race = line_up(shelf, allowance, prompt, decoder, model, settings)
            for _ in allowance.spend(race):
                pass
            return result(chosen.traces(race, text)[0])

    return decode


def status_endpoint(shelf: Shelf) -> Callable[[], dict]:
    began = time.time()

    def status() -> dict:
        """What runs here: models, decoders, hardware, versions, seconds since the start."""
        return {
            "models": [name for _, name in shelf.choices()], "decoders": list(DECODERS),
            "uptime": round(time.time() - began, 1),
            "versions": {name: version(name) for name in ("torch", "gradio", "plotly")},
        } | shelf.health()  # fmt: skip

    return status


def line_up(
    shelf: Shelf, allowance: Allowance, prompt: str, decoders: str, model: str, settings: dict | None
) -> tuple[Model, str, Race]:
    """Check everything: the model, the prompt it is asked, and the race. Raises PageError, SettingsError, ModelError."""
    if not isinstance(prompt, str) or not isinstance(decoders, str) or not isinstance(settings or {}, dict):
        raise PageError('prompt and decoders are texts, and settings is an object such as {"lookahead": 4}.')
    name = model or shelf.first
    chosen = shelf.take(name)
    try:
        wanted = DecodeSettings(**{**chosen.source.settings, **(settings or {})})
    except TypeError as error:
        unknown = [key for key in settings if key not in DecodeSettings.__dataclass_fields__]
        raise SettingsError(f"There is no setting {unknown[0]!r}." if unknown else f"{error}.") from None
    lanes = {each: wanted.decoder(each) for each in (part.strip() for part in decoders.split(",")) if each}
    if not lanes:
        raise SettingsError(f"decoders names none: take some of {', '.join(DECODERS)}.")
    allowance.check(lanes)
    text = cleaned(prompt)
    return chosen, text, chosen.race(encode(chosen, text), lanes)


def result(trace: Trace) -> dict[str, Any]:
    return {"decoder": trace.decoder, "text": trace.text, "ids": list(trace.ids), "reason": trace.reason} | measure(trace).as_dict()


@contextmanager
def sentences() -> Iterator[None]:
    """An error meant for a person becomes Gradio's, whose message reaches the client as it is."""
    try:
        yield
    except (PageError, SettingsError, ModelError) as error:
        raise gr.Error(str(error), print_exception=False) from None
