"""`bench`: decoders on held-out problems with checkable answers."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tqdm import tqdm

from ..bench import accuracy, files, report
from ..bench.tables import DECODERS, table
from ..decode.settings import SettingsError
from ..io.writing import check_writable
from ..model.errors import ModelError
from ..runtime.session import Model
from ..tasks.problem import Problem
from ..tasks.registry import TASKS
from . import options
from .compare import add_decoders, read_decoders
from .output import deliver


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sweep", action="store_true", help="scaling curves instead, with the flags of the command `sweep`")
    add_task(parser)
    add_decoders(parser, "vanilla,confidence,lopa,lopa-paper", everything=True)
    options.add_model(parser)
    options.add_settings(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--out", type=Path, metavar="FILE", help="save the JSON object, which the page draws its Decoders tab from")


def add_task(parser: argparse.ArgumentParser, limit: int = 100) -> None:
    parser.add_argument("--task", choices=tuple(TASKS), default="mixed", help="default mixed: word problems and word lists")
    parser.add_argument("--limit", type=int, default=limit, metavar="N", help=f"problems, the same ones every time (default {limit})")
    parser.add_argument("--problem-seed", type=int, default=0, metavar="N", help="other problems, such as to tune on (default 0)")


def check_limit(args: argparse.Namespace) -> None:
    """Raises SettingsError; to be asked before a model is loaded for nothing."""
    if not 1 <= args.limit <= 100_000:
        raise SettingsError(f"--limit must lie between 1 and 100000, not {args.limit}.")


def read_problems(args: argparse.Namespace, model: Model) -> list[Problem]:
    """The held-out problems asked for. Raises ModelError where the model cannot read them."""
    if model.tokenizer is None:
        raise ModelError(f"{model.name} has no tokenizer, so it cannot read the task's problems.")
    return list(TASKS[args.task](args.limit, split="test", seed=args.problem_seed))


def run(args: argparse.Namespace) -> int:
    check_limit(args)
    check_writable(args.out)
    source = options.read_model_name(args)
    settings = options.read_settings(args, source)
    lanes = read_decoders(args, settings)
    model = options.read_model(args, source)
    held_out = read_problems(args, model)
    with tqdm(total=len(held_out) * len(lanes), unit="decode", dynamic_ncols=True) as bar:
        results = accuracy.run(model, held_out, lanes, bar.update)
    told = report.report(args.task, model.name, model.hardware, settings, args.problem_seed, results)
    deliver(
        lambda: print(json.dumps(told)) if args.json else show(told["results"], model.hardware),
        (args.out, lambda file: files.save(told, file)),
    )
    return 0


def show(rows: list[dict], hardware: str) -> None:
    """A Markdown table; counts per problem."""
    print(f"\n{rows[0]['problems']} held-out problems, {hardware}\n")
    same = {f"text of {rows[0]['decoder']}": lambda row: f"{row['same_text'] / row['problems']:.0%}"}
    print(table(DECODERS | same, rows))
