"""`bench-rounds`: time per round against the number of lookahead branches, in one run."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace

import numpy as np

from ..bench.rounds import RoundTime, time_rounds
from ..bench.tables import ROUNDS, table
from ..decode.settings import SettingsError
from . import options


def configure(parser: argparse.ArgumentParser) -> None:
    numbers = "0,1,3,7"
    parser.add_argument("--lookaheads", default=numbers, metavar=numbers, help=f"numbers k, ratios are to the first (default {numbers})")
    parser.add_argument("--prompt-length", type=int, default=32, metavar="N", help="tokens of the random prompt (default 32)")
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="runs of each, the median is shown (default 5)")
    options.add_model(parser, spread=False)
    options.add_settings(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    numbers = options.read_numbers("--lookaheads", args.lookaheads, int)
    if args.repeats < 1 or args.prompt_length < 1:
        raise SettingsError("--repeats and --prompt-length must be 1 or more.")
    source = options.read_model_name(args)
    settings = options.read_settings(args, source)
    model = options.read_network(args, source)
    prompt = np.random.default_rng(settings.seed).integers(model.network.config.vocab_size, size=args.prompt_length).tolist()
    times = time_rounds(model.network, prompt, [replace(settings, lookahead=number) for number in numbers], args.repeats)
    rows = [as_row(each, times[0]) for each in times]
    if args.json:
        print(json.dumps({"model": model.name, "hardware": model.hardware, "results": rows}))
    else:
        print(f"{model.hardware}, milliseconds per round\n\n{table(ROUNDS, rows)}")
    return 0


def as_row(time: RoundTime, first: RoundTime) -> dict[str, float]:
    derived = {"host": time.host, "outside_network_share": time.outside_network_share, "ratio": time.milliseconds / first.milliseconds}
    return asdict(time) | derived
