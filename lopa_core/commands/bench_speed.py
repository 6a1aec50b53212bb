"""`bench-speed`: tokens per second of LoPA, its baseline and the plain loop, in one run on one device."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

import torch
from tqdm import tqdm

from ..bench import speed
from ..bench.tables import LANES, NARROW, lanes, table
from ..decode.settings import SettingsError
from . import options
from .bench import add_task, check_limit, read_problems


def configure(parser: argparse.ArgumentParser) -> None:
    add_task(parser, limit=24)
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="decodes of each, the median counts (default 5)")
    options.add_model(parser, spread=False)
    options.add_settings(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    check_limit(args)
    if not 1 <= args.repeats <= 1000:
        raise SettingsError(f"--repeats must lie between 1 and 1000, not {args.repeats}.")
    source = options.read_model_name(args)
    settings = options.read_settings(args, source)
    lanes = speed.lanes(settings)
    model = options.read_network(args, source)
    held_out = read_problems(args, model)
    with tqdm(total=len(held_out) * len(lanes) * args.repeats, unit="decode", dynamic_ncols=True) as bar:
        speed.run(model, held_out, lanes, args.repeats, bar.update)
    if model.network.dtype != torch.float32:
        speed.compare(options.read_network(args, source, torch.float32), held_out, lanes)
    told = {name: lane.as_dict() for name, lane in lanes.items()}
    about = {
        "model": model.name, "hardware": model.hardware, "threads": torch.get_num_threads(),
        "dtype": str(model.network.dtype).removeprefix("torch."), "task": args.task, "problems": args.limit, "repeats": args.repeats,
        "settings": asdict(settings),
    }  # fmt: skip
    if args.json:
        print(json.dumps(about | told | {"ratios": speed.ratios(told)}))
    else:
        show(about | told, speed.ratios(told))
    return 0


def show(about: dict[str, Any], ratios: dict[str, Any]) -> None:
    """A Markdown table; counts and seconds per problem."""
    count = about["problems"]
    print(f"\n{about['model']}, {about['dtype']}, {about['hardware']}; {count} held-out problems, median of {about['repeats']}\n")
    narrow = "same_ids_as_fp32" in about[speed.BASELINE]
    print(table(NARROW if narrow else LANES, lanes(about)) + "\n")
    for sentence in speed.in_words(ratios):
        print(sentence)
