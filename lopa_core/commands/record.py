"""`record`: the gallery of recorded runs that the page shows, decoded anew on this machine."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from ..decode.settings import DecodeSettings
from ..io.writing import check_writable, make_folder
from ..runtime.session import Model
from ..tasks.examples import EXAMPLES
from ..trace.files import save
from . import options
from .decode import race


@dataclass(frozen=True, slots=True)
class Run:
    """One recording: an example by its title, decoders, and what differs from the model's preset."""

    example: str
    decoders: tuple[str, ...] = ("confidence", "lopa")
    changes: dict[str, object] = field(default_factory=dict)


RUNS = {
    "zoo-tickets": Run("Zoo tickets"),
    "one-token-per-pass": Run("Shells", ("vanilla", "confidence", "lopa")),
    "fifteen-branches": Run("Baking", changes={"lookahead": 15}),
    "as-published": Run("Shells", ("confidence", "lopa", "lopa-paper")),
    "sampled": Run("On the bus", changes={"temperature": 0.7, "seed": 3}),
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where to write, such as assets/replays")
    parser.add_argument("--only", choices=RUNS, action="append", metavar="NAME", help=f"one of {', '.join(RUNS)} (default: all)")
    options.add_model(parser)


def run(args: argparse.Namespace) -> int:
    files = {name: args.out / f"{name}.json" for name in args.only or RUNS}
    make_folder(args.out)
    check_writable(*files.values())
    model = options.read_model(args, options.read_model_name(args))
    for name, file in tqdm(files.items(), unit="run", dynamic_ncols=True):
        record(model, RUNS[name], file)
    return 0


def record(model: Model, chosen: Run, file: Path) -> None:
    settings = DecodeSettings(**{**model.source.settings, **chosen.changes})
    question = EXAMPLES[chosen.example].question
    lanes = {name: settings.decoder(name) for name in chosen.decoders}
    save(race(model, question, model.encode(question), lanes), file)
