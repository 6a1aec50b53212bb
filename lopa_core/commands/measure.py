"""`measure`: the figures of the documents, measured anew and put into them."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from ..bench.files import ReportError
from ..bench.measured import document, stored
from ..bench.measured.measurement import ASSETS, ROOT, Measurement
from ..bench.measured.registry import DOCUMENTS, MEASUREMENTS
from ..io.writing import write_text


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to measure (default: nothing, but list all there is)")
    parser.add_argument("--all", action="store_true", help="measure everything, one after the other")
    parser.add_argument("--resume", action="store_true", help="skip what was measured already with the code as it is now")
    parser.add_argument("--limit", type=int, metavar="N", help="a trial: N problems, everything else at its smallest; needs --out")
    parser.add_argument("--out", type=Path, default=ASSETS, metavar="DIR", help="folder of the results (default: assets)")
    parser.add_argument("--render", action="store_true", help="then put the stored results into the documents")
    parser.add_argument("--document", type=Path, action="append", metavar="FILE", help="render this one (default: those of the project)")


def run(args: argparse.Namespace) -> int:
    """Exit code 1 if something could not be measured."""
    chosen = read_chosen(args)
    failed = measure(chosen, args.out, args.limit, args.resume)
    if args.render:
        render(args.document or DOCUMENTS, args.out)
    elif not chosen:
        show(args.out)
    return 1 if failed else 0


def read_chosen(args: argparse.Namespace) -> list[Measurement]:
    """Raises ReportError for a name that is none, and for flags that do not go together."""
    unknown = [name for name in args.names if name not in MEASUREMENTS]
    if unknown:
        raise ReportError(f"There is no measurement {unknown[0]!r}: take some of {', '.join(MEASUREMENTS)}.")
    if args.all and args.names:
        raise ReportError("--all measures everything, so give no name beside it.")
    if args.document and not args.render:
        raise ReportError("--document names what --render is to change, so give --render as well.")
    if args.limit is not None and (args.limit < 1 or args.out.resolve() == ASSETS):
        raise ReportError("--limit makes a trial of 1 problem or more, which must not replace a result: give --out DIR as well.")
    if not (ROOT / "tests").is_dir():
        raise ReportError(f"measure works in a checkout of the project, and {ROOT} is none: it has no folder tests.")
    return list(MEASUREMENTS.values()) if args.all else [MEASUREMENTS[name] for name in dict.fromkeys(args.names)]


def measure(chosen: Sequence[Measurement], folder: Path, limit: int | None, resume: bool) -> int:
    """How many failed. Each result is stored as soon as there is one, so that an interrupted run keeps what it has."""
    failed = 0
    for number, each in enumerate(chosen, 1):
        place = f"[{number}/{len(chosen)}] {each.name}"
        if resume and stored.up_to_date(each, folder, limit):
            print(f"{place}: measured already", file=sys.stderr)
            continue
        print(f"{place}: {each.typed(limit)}", file=sys.stderr)
        began = time.monotonic()
        try:
            path = stored.measure(each, folder, limit)
        except ReportError as error:
            failed += 1
            print(f"lopa_core: {error}", file=sys.stderr)
        else:
            print(f"{each.name}: {time.monotonic() - began:.0f} s, {path}")
    return failed


def render(documents: Sequence[Path], folder: Path) -> None:
    """All documents are made before the first one is written, so that a damaged result leaves them as they are."""
    made = {path: document.render(path.read_text(encoding="utf-8"), MEASUREMENTS, folder) for path in documents}
    for path, text in made.items():
        write_text(path, text)
        print(path)
    missing = [name for name, each in MEASUREMENTS.items() if stored.read(each, folder) is None]
    if missing:
        print(f"Not measured yet: {', '.join(missing)}. `python -m lopa_core measure {' '.join(missing)}` does it.")


def show(folder: Path) -> None:
    """Every measurement with its state."""
    for name, each in MEASUREMENTS.items():
        told = stored.read(each, folder)
        print(f"{name}: {each.typed()}\n    {'not measured yet' if told is None else stored.provenance(told)}")
