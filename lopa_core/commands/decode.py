"""`decode`: one prompt through one decoder."""

from __future__ import annotations

import argparse
import json

from ..decode.settings import DECODERS, DecodeSettings
from ..runtime.race import Race
from ..runtime.session import Model
from ..trace.files import save
from ..trace.metrics import measure
from ..trace.trace import Trace
from . import options


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_prompt(parser)
    options.add_model(parser)
    parser.add_argument("--decoder", choices=(*DECODERS, "d2f"), default="lopa")
    options.add_settings(parser)
    parser.add_argument("--trace", metavar="FILE", help="save every round")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    settings = options.read_settings(args, options.model_folder(args)).decoder(args.decoder)
    model = options.read_model(args)
    text, prompt = options.read_prompt(args, model)
    (trace,) = race(model, text, prompt, {args.decoder: settings}, args.trace)
    if args.json:
        print(json.dumps(result(trace)))
        return 0
    numbers = measure(trace)
    print(trace.text.strip() if model.tokenizer else " ".join(map(str, trace.ids)))
    print(f"\n{numbers.tokens} tokens in {numbers.rounds} forward passes ({numbers.tpf:.2f} per pass), {numbers.branch_forwards} rows")
    return 0


def race(model: Model, text: str, prompt: list[int], lanes: dict[str, DecodeSettings], file: str | None) -> list[Trace]:
    """Run every lane to its end; the traces are saved in `file` if one is named."""
    running = Race(model.network, prompt, lanes)
    for _ in running.run():
        pass
    traces = running.traces(model, text)
    if file:
        save(traces, file)
    return traces


def result(trace: Trace) -> dict[str, object]:
    """What a finished decode gave, with its metrics, as JSON data."""
    return {"text": trace.text, "ids": trace.ids, "reason": trace.reason} | measure(trace).as_dict()
