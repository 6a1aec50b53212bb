"""`verify`: check the decoders against a file of cases in the conformance format."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
from tqdm import tqdm

from ..bench import verify as checks


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("cases", type=Path, metavar="CASES.json")
    parser.add_argument("--models", type=Path, required=True, metavar="DIR", help="folder of the cases' checkpoints")
    parser.add_argument("--dtype", choices=("float64", "float32"), default="float64", help="default float64: see bench/verify.py")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Exit code 0 if every case agrees, else 1."""
    cases = checks.read_cases(args.cases)
    verdicts = checks.verify(cases, args.models, dtype=getattr(torch, args.dtype))
    failures = []
    for number, difference in enumerate(tqdm(verdicts, total=len(cases), unit="case", dynamic_ncols=True)):
        if difference:
            failures.append({"case": number, "model": cases[number]["model"], "difference": difference})
    passed = len(cases) - len(failures)
    if args.json:
        print(json.dumps({"passed": passed, "failed": len(failures), "failures": failures}))
    else:
        for failure in failures:
            print(f"case {failure['case']} ({failure['model']}): {failure['difference']}")
        print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures else 0
