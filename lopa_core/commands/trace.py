"""`trace`: what a saved trace holds."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from ..io.writing import check_writable
from ..trace.files import read
from ..trace.metrics import measure
from ..trace.trace import Trace
from .decode import add_html, result, write_html
from .output import deliver


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="written by decode --trace or compare --trace")
    parser.add_argument("--rounds", action="store_true", help="one line per round")
    add_html(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    check_writable(args.html)
    traces = read(args.file)
    deliver(
        lambda: print(json.dumps({"traces": [summary(trace) for trace in traces]})) if args.json else show(traces, args.rounds),
        (args.html, lambda file: write_html(file, traces)),
    )
    return 0


def show(traces: Sequence[Trace], rounds: bool) -> None:
    for trace in traces:
        numbers = measure(trace)
        print(f"{trace.decoder} on {trace.model}, {trace.hardware}, {trace.recorded}: {trace.reason}")
        print(f"  {numbers.tokens} tokens, {numbers.rounds} rounds, {numbers.branch_forwards} branch-forwards, TPF {numbers.tpf:.2f}")
        print(f"  {trace.text.strip()!r}")
        if rounds:
            show_rounds(trace)


def summary(trace: Trace) -> dict[str, object]:
    names = ("decoder", "model", "prompt", "hardware", "recorded", "settings")
    return {name: getattr(trace, name) for name in names} | result(trace)


def show_rounds(trace: Trace) -> None:
    for index, each in enumerate(trace.rounds):
        best = each.branches[each.winner]
        won = "anchor" if best.anchor else f"lookahead at slot {best.slot}"
        written = " ".join(f"{slot}:{trace.pieces.get(token, token)!r}" for slot, token, _ in each.committed)
        back = f", taken back: {' '.join(map(str, each.taken))}" if each.taken else ""
        print(f"  {index:>4} {len(each.branches)} rows, {won} ({best.score:.3f}), {len(each.committed)} tokens: {written}{back}")
