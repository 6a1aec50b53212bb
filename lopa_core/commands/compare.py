"""`compare`: one prompt through several decoders, with the numbers side by side."""

from __future__ import annotations

import argparse
import json

from ..decode.decoders import DECODERS
from ..decode.settings import DecodeSettings, SettingsError
from . import options
from .decode import add_files, answer, check_files, race, result, saves
from .output import deliver

ALL = "all"


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_prompt(parser)
    options.add_model(parser)
    add_decoders(parser, "confidence,lopa")
    options.add_settings(parser)
    add_files(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def add_decoders(parser: argparse.ArgumentParser, default: str, *, everything: bool = False) -> None:
    """everything: whether `all` may be said."""
    every = f", or {ALL}" if everything else ""
    parser.set_defaults(everything=everything)
    text = f"with commas between them, of {', '.join(DECODERS)}{every} (default {default})"
    parser.add_argument("--decoders", default=default, help=text)


def read_decoders(args: argparse.Namespace, settings: DecodeSettings) -> dict[str, DecodeSettings]:
    """{name: settings} of --decoders."""
    names = [name.strip() for name in args.decoders.split(",") if name.strip()]
    if args.everything and names == [ALL]:
        names = list(DECODERS)
    if not names:
        raise SettingsError(f"--decoders names none: take some of {', '.join(DECODERS)}.")
    return {name: settings.decoder(name) for name in names}


def run(args: argparse.Namespace) -> int:
    check_files(args)
    source = options.read_model_name(args)
    lanes = read_decoders(args, options.read_settings(args, source))
    model = options.read_model(args, source)
    text, prompt = options.read_prompt(args, model)
    traces = race(model, text, prompt, lanes)
    rows = [{"decoder": trace.decoder} | result(trace) for trace in traces]
    told = {"prompt": text, "model": model.name, "hardware": model.hardware, "results": rows}
    answers = [answer(trace, model) for trace in traces]
    deliver(lambda: print(json.dumps(told)) if args.json else show(rows, answers), *saves(args, traces))
    return 0


def show(rows: list[dict], answers: list[str]) -> None:
    for row, text in zip(rows, answers):
        print(f"{row['decoder']}: {text}\n")
    print(f"{'decoder':<12}{'tokens':>8}{'passes':>8}{'branches':>10}{'TPF':>7}{'seconds':>9}{'tokens/s':>10}")
    for row in rows:
        print(
            f"{row['decoder']:<12}{row['tokens']:>8}{row['rounds']:>8}{row['branch_forwards']:>10}"
            f"{row['tpf']:>7.2f}{row['seconds']:>9.3f}{row['tokens_per_second']:>10.1f}"
        )
