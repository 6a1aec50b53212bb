"""`decode`: one prompt through one decoder."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from ..decode.decoders import DECODERS
from ..decode.settings import DecodeSettings
from ..runtime.session import Model
from ..tasks.examples import known
from ..trace.files import save
from ..trace.metrics import measure
from ..trace.trace import Trace
from . import options


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_prompt(parser)
    options.add_model(parser)
    parser.add_argument("--decoder", choices=(*DECODERS, "d2f"), default="lopa")
    options.add_settings(parser)
    add_files(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    source = options.read_model_name(args)
    settings = options.read_settings(args, source).decoder(args.decoder)
    model = options.read_model(args, source)
    text, prompt = options.read_prompt(args, model)
    (trace,) = traces = race(model, text, prompt, {args.decoder: settings})
    write_files(args, traces)
    if args.json:
        print(json.dumps(result(trace)))
        return 0
    numbers = measure(trace)
    print(trace.text.strip() if model.tokenizer else " ".join(map(str, trace.ids)))
    print(f"\n{numbers.tokens} tokens in {numbers.rounds} forward passes ({numbers.tpf:.2f} per pass), {numbers.branch_forwards} rows")
    return 0


def race(model: Model, text: str, prompt: list[int], lanes: dict[str, DecodeSettings]) -> list[Trace]:
    """Run every lane to its end."""
    running = model.race(prompt, lanes)
    for _ in running.run():
        pass
    return model.traces(running, text)


def add_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--trace", metavar="FILE", help="save every round as JSON")
    add_html(parser)


def add_html(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--html", type=Path, metavar="FILE", help="save a replay: a page that opens by itself, without a network")


def write_files(args: argparse.Namespace, traces: Sequence[Trace]) -> None:
    if args.trace:
        save(traces, args.trace)
    write_html(args.html, traces)


def write_html(file: Path | None, traces: Sequence[Trace]) -> None:
    if file:
        from ..view.replay import replay_html  # only here: it brings plotly along
        from ..view.state import loaded, recorded

        state = loaded(recorded("replay", traces), traces, known(traces[0].prompt))
        file.write_text(replay_html(state), encoding="utf-8")


def result(trace: Trace) -> dict[str, object]:
    """What a finished decode gave, with its metrics, as JSON data."""
    return {"text": trace.text, "ids": trace.ids, "reason": trace.reason} | measure(trace).as_dict()
