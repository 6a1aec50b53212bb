"""`decode`: one prompt through one decoder."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from ..decode.decoders import DECODERS
from ..decode.settings import DecodeSettings
from ..io.writing import check_writable, write_text
from ..runtime.session import Model
from ..tasks.examples import known
from ..trace.files import save
from ..trace.metrics import measure
from ..trace.trace import Trace
from . import options
from .output import deliver


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_prompt(parser)
    options.add_model(parser)
    parser.add_argument("--decoder", choices=(*DECODERS, "d2f"), default="lopa")
    options.add_settings(parser)
    add_files(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    check_files(args)
    source = options.read_model_name(args)
    settings = options.read_settings(args, source).decoder(args.decoder)
    model = options.read_model(args, source)
    text, prompt = options.read_prompt(args, model)
    (trace,) = traces = race(model, text, prompt, {args.decoder: settings})
    deliver(lambda: print(json.dumps(result(trace))) if args.json else show(trace, model), *saves(args, traces))
    return 0


def show(trace: Trace, model: Model) -> None:
    numbers = measure(trace)
    print(answer(trace, model))
    print(f"\n{numbers.tokens} tokens in {numbers.rounds} forward passes ({numbers.tpf:.2f} per pass), {numbers.branch_forwards} rows")


def answer(trace: Trace, model: Model) -> str:
    """What was written, as text, which may be empty; as ids where the model has no tokenizer."""
    return trace.text.strip() if model.tokenizer else " ".join(map(str, trace.ids))


def race(model: Model, text: str, prompt: list[int], lanes: dict[str, DecodeSettings]) -> list[Trace]:
    """Run every lane to its end."""
    running = model.race(prompt, lanes)
    for _ in running.run():
        pass
    return model.traces(running, text)


def add_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--trace", type=Path, metavar="FILE", help="save every round as JSON")
    add_html(parser)


def add_html(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--html", type=Path, metavar="FILE", help="save a replay: a page that opens by itself, without a network")


def check_files(args: argparse.Namespace) -> None:
    """Raise WriteError for one that could not be written; to be asked before a model is loaded for nothing."""
    check_writable(args.trace, args.html)


def saves(args: argparse.Namespace, traces: Sequence[Trace]) -> list[tuple[Path | None, Callable[[Path], None]]]:
    """For `deliver`: the flags' files."""
    return [(args.trace, lambda file: save(traces, file)), (args.html, lambda file: write_html(file, traces))]


def write_html(file: Path, traces: Sequence[Trace]) -> None:
    from ..view.replay import replay_html  # only here: it brings plotly along
    from ..view.state import loaded, recorded

    write_text(file, replay_html(loaded(recorded("replay", traces), traces, known(traces[0].prompt))))


def result(trace: Trace) -> dict[str, object]:
    """What a finished decode gave, with its metrics, as JSON data."""
    return {"text": trace.text, "ids": trace.ids, "reason": trace.reason} | measure(trace).as_dict()
