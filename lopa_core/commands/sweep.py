"""`sweep`: TPF and accuracy of LoPA over its number of branches and over the threshold, on held-out problems."""

from __future__ import annotations

import argparse
import json
import logging
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ..bench import files, sweep_file
from ..bench.curves import curves
from ..bench.sweep import DECODE, LOOKAHEADS, POINT, TAUS, Plan, Sweep
from ..bench.tables import ACCURACY, DECODERS, some, table
from ..decode.settings import DecodeSettings, SettingsError
from ..io.writing import WriteError, check_writable, write_text
from ..view.replay import figures_html
from ..view.scaling import about, scaling_figures, title
from . import options
from .bench import add_task, check_limit, read_problems
from .output import deliver

LOG = logging.getLogger(__name__)
OVER = ("k", "tau", "both")


def configure(parser: argparse.ArgumentParser) -> None:
    every, some = ",".join(map(str, LOOKAHEADS)), ",".join(map(str, TAUS))
    parser.add_argument("--over", choices=OVER, default=OVER[-1], help="branches k at one tau_conf, tau_conf at k = 0 and one k, or both")
    parser.add_argument("--lookaheads", default=every, metavar="0,1,...", help=f"numbers k of the curve over k (default {every})")
    parser.add_argument("--taus", default=some, metavar="0.5,...", help=f"thresholds of the curves over tau_conf (default {some})")
    add_task(parser)
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="save the report, anew after every point; the Scaling tab is drawn from one"
    )
    parser.add_argument("--resume", action="store_true", help="keep the points that --out has already, and go on with the missing ones")
    parser.add_argument("--figure", type=Path, metavar="FILE", help="save the curves as an HTML page that needs no network")
    options.add_model(parser)
    options.add_settings(parser)
    parser.add_argument("--json", action="store_true", help="print the report, one JSON object")


def run(args: argparse.Namespace) -> int:
    check_limit(args)
    before = read_before(args)
    source = options.read_model_name(args)
    plan = read_plan(args, options.read_settings(args, source).decoder("lopa"))
    model = options.read_model(args, source)
    sweep = Sweep(plan, model, read_problems(args, model), task=args.task, seed=args.problem_seed, before=before)
    measure(sweep, args.out)
    told = sweep.report()
    deliver(
        lambda: print(json.dumps(told)) if args.json else show(told),
        (args.out, lambda file: files.save(told, file)),
        (args.figure, lambda file: write_figure(told, file)),
    )
    return 0


def write_figure(told: dict[str, Any], file: Path) -> None:
    name = "LoPA's scaling curves"
    write_text(file, figures_html(name, f"{name}. {about(told)}", scaling_figures(curves(told))))


def read_before(args: argparse.Namespace) -> dict[str, Any] | None:
    """The report to go on with, None where there is none yet; asked before a model is loaded.

    Raises SettingsError, ReportError, WriteError.
    """
    if args.resume and not args.out:
        raise SettingsError("--resume goes on with the report in --out, so give --out FILE as well.")
    if args.figure and args.figure.suffix.lower() not in (".html", ".htm"):
        raise SettingsError(f"--figure saves an HTML page, so take a name that ends in .html, not {args.figure.name}.")
    check_writable(args.out, args.figure)
    return sweep_file.read(args.out) if args.resume and args.out.exists() else None


def read_plan(args: argparse.Namespace, base: DecodeSettings) -> Plan:
    """Raises SettingsError for a list that is none, and for a value out of its range."""
    over_k, over_tau = args.over in ("k", "both"), args.over in ("tau", "both")
    lookaheads = options.read_numbers("--lookaheads", args.lookaheads, int) if over_k else ()
    taus = options.read_numbers("--taus", args.taus, float) if over_tau else ()
    return Plan(base=base, lookaheads=lookaheads, taus=taus)


def measure(sweep: Sweep, out: Path | None) -> None:
    """Run it with a bar; the report is saved after every point, so that --resume loses one at most.

    One that cannot be saved now is told of, and the next point tries again: what was measured is still in memory.
    """
    with tqdm(total=sweep.decodes_left, unit="decode", dynamic_ncols=True) as bar:
        for ended in sweep.run():
            if ended == DECODE:
                bar.update()
            elif ended == POINT and out:
                save_point(sweep, out)
            k, tau = sweep.current
            bar.set_postfix_str(f"k = {k}, tau_conf {tau:g}", refresh=False)


def save_point(sweep: Sweep, out: Path) -> None:
    try:
        files.save(sweep.report(), out)
    except WriteError as error:
        LOG.warning("%s The sweep goes on; make room, and the next point is saved with all before it.", error)


def show(told: dict[str, Any]) -> None:
    """A Markdown table per curve; counts per problem."""
    print(f"\n{about(told)}")
    for curve in curves(told):
        print(f"\n{title(curve)}: AUP {curve['aup']:.0f}\n")
        swept = {curve["swept"]: lambda point, name=curve["swept"]: f"{point[name]:g}"}
        print(table(swept | some(DECODERS, ACCURACY, "TPF", "rounds", "branch-forwards", "seconds", "tokens/s"), curve["points"]))
