"""The command line: `python -m lopa_core COMMAND --help`.

Bad input ends with exit code 2 and one sentence on standard error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import NoReturn

from .io.console import OUTPUT, abandon, flush, print_anything

COMMANDS = {
    "decode": "one prompt through one decoder",
    "compare": "one prompt through several decoders, side by side",
    "models": "the models of the catalogue, and which of them this machine can run",
    "bench": "decoders on held-out problems with checkable answers",
    "sweep": "scaling curves of LoPA: TPF and accuracy over its branches and over the threshold",
    "evaluate": "the paper's benchmarks: GSM8K, MATH, HumanEval, MBPP",
    "bench-speed": "tokens per second of LoPA, its baseline and a plain loop, in one run",
    "bench-rounds": "time per round against the number of branches",
    "bench-step": "one step on random weights against the device's roofline",
    "trace": "what a saved trace holds, and a page to replay it",
    "measure": "the figures of the documents, measured anew and put into them",
    "record": "the page's gallery of recorded runs, anew",
    "verify": "check the decoders against a file of conformance cases",
}


class Parser(argparse.ArgumentParser):
    """argparse that answers a wrong flag with one sentence."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    print_anything()
    argv = list(sys.argv[1:] if argv is None else argv)
    parser = Parser(prog="python -m lopa_core", description="Decoders for diffusion language models: baseline and LoPA, side by side.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, about in COMMANDS.items():
        commands.add_parser(name, help=about, description=about.capitalize() + ".")
    if not argv or argv[0] not in COMMANDS:
        parser.parse_args(argv)  # prints help or says what is wrong
    return run(argv[0], argv[1:])


def run(name: str, argv: Sequence[str]) -> int:
    """Run one command."""
    from .bench.files import ReportError
    from .decode.settings import SettingsError
    from .evaluation.errors import EvaluationError
    from .io.writing import WriteError
    from .model.errors import ModelError
    from .trace.files import TraceError

    command, args = parse(name, argv)
    try:
        code = command.run(args)
        flush()
        return code
    except (EvaluationError, ModelError, ReportError, SettingsError, TraceError, WriteError) as error:
        print(f"lopa_core: {error}", file=sys.stderr)
        return 2
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "memory" not in str(error):
            raise  # torch tells of too little memory by a RuntimeError on every device
        print("lopa_core: There is too little memory: take a smaller --lookahead, or --dtype bfloat16.", file=sys.stderr)
        return 2
    except BrokenPipeError:
        abandon()
        return 0  # the reader, such as head, has seen enough
    except OSError as error:
        print(f"lopa_core: {error.filename or 'a file or standard output'}: {error.strerror}.", file=sys.stderr)
        if error.filename in (None, OUTPUT):
            abandon()
        return 2
    except KeyboardInterrupt:
        return 130


def parse(name: str, argv: Sequence[str]) -> tuple[ModuleType, argparse.Namespace]:
    """A command and its flags; only its own module is imported, so that --help answers at once."""
    if name == "bench" and "--sweep" in argv:  # the curves have flags of their own
        name, argv = "sweep", [each for each in argv if each != "--sweep"]
    command = import_module(f".commands.{name.replace('-', '_')}", __package__)
    parser = Parser(prog=f"python -m lopa_core {name}", description=f"{COMMANDS[name].capitalize()}.")
    command.configure(parser)
    return command, parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
