"""`bench-step`: one step of the loop on random weights of a known shape, against the device's roofline."""

from __future__ import annotations

import argparse
import json

import torch

from ..bench.steps import SHAPES, Limits, StepTime, measure_limits, random_network, shape, time_steps
from ..bench.tables import STEPS, table
from ..decode.settings import SettingsError
from ..model.precision import DTYPES
from ..runtime.device import describe, usable


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--shape", choices=SHAPES, default="small", help="whose sizes (default small, which suits a CPU)")
    parser.add_argument("--layers", type=int, metavar="N", help="fewer layers than the shape has, where memory is short")
    parser.add_argument("--rows", default="1,4,8", metavar="1,4,8", help="branches (default 1,4,8)")
    parser.add_argument("--window", default="32,64", metavar="32,64", help="slots of the window (default 32,64)")
    parser.add_argument("--prefix", type=int, default=512, metavar="N", help="cached slots before it (default 512)")
    parser.add_argument("--repeats", type=int, default=20, metavar="N", help="of each, the median is shown (default 20)")
    parser.add_argument("--device", help="cpu, cuda, cuda:1 ... (default: a GPU if there is one)")
    parser.add_argument("--dtype", choices=DTYPES, help="default: bfloat16 on a GPU, float32 on a CPU")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads (default: torch's choice)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    rows, windows = numbers(args.rows, "--rows"), numbers(args.window, "--window")
    if min(args.prefix, args.repeats, args.layers or 1) < 1 or args.prefix + max(windows) > 4096:
        raise SettingsError("--prefix, --repeats and --layers must be 1 or more, and prefix and window 4096 together at most.")
    if args.threads:
        torch.set_num_threads(args.threads)
    device = usable(args.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    dtype = getattr(torch, args.dtype) if args.dtype else torch.float32 if device.type == "cpu" else torch.bfloat16
    network = random_network(shape(args.shape, args.layers), device, dtype)
    limits = measure_limits(device, dtype)
    steps = [row(each, limits) for each in time_steps(network, rows, windows, args.prefix, args.repeats)]
    if args.json:
        told = {"bytes_per_second": limits.bytes_per_second, "flops": limits.flops}
        print(json.dumps({"shape": args.shape, "hardware": describe(device), "limits": told, "results": steps}))
    else:
        show(args.shape, describe(device), dtype, limits, steps)
    return 0


def numbers(text: str, flag: str) -> list[int]:
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1 or max(found) > 1024:
        raise SettingsError(f"{flag} takes whole numbers from 1 to 1024 with commas between them, not {text!r}.")
    return found


def row(step: StepTime, limits: Limits) -> dict[str, float]:
    return {
        "rows": step.rows, "window": step.window, "milliseconds": 1000 * step.seconds, "floor": 1000 * step.floor(limits),
        "ratio": step.seconds / step.floor(limits), "bytes_per_second": step.bytes_moved / step.seconds,
        "flops": step.operations / step.seconds, "host_share": step.host_share,
    }  # fmt: skip


def show(name: str, hardware: str, dtype: torch.dtype, limits: Limits, steps: list[dict[str, float]]) -> None:
    kind = str(dtype).removeprefix("torch.")
    print(f"{name}, {kind}, {hardware}; reached here: {limits.bytes_per_second / 1e9:.0f} GB/s, {limits.flops / 1e12:.2f} TFLOP/s\n")
    print(table(STEPS, steps))
