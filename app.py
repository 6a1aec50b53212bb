"""The demo's entry: flags and environment -> model -> page. `python app.py --help` tells the flags.

Bad input (a wrong value, a damaged model, a port in use) ends with exit code 2 and one sentence on standard error.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lopa_core.io.console import leave, print_anything
from lopa_core.model.precision import DTYPES

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # read when gradio is imported

PATIENCE = 2.0  # seconds a model may take before the page goes ahead without it
PORTS = range(7860, 7960)  # tried in turn where no port is asked for


def main(argv: Sequence[str] | None = None) -> int:
    print_anything()
    args = parse(argv)
    for name in ("GRADIO_SERVER_NAME", "GRADIO_SERVER_PORT"):
        os.environ.pop(name, None)  # the flags hold them; Gradio would read them once more and stumble over a wrong one
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: leave(0))  # until the page is served: nothing to close yet
    from lopa_core.page.serving import free, serve

    ports = [args.port] if args.port else PORTS
    if not any(free(args.host, port) for port in ports):  # asked before a large model is loaded for nothing
        return fail(unusable(args.host, ports))
    import torch  # late, so that --help and what is wrong above are told at once

    from lopa_core.model.errors import ModelError
    from lopa_core.model.presets import DEFAULT
    from lopa_core.model.source import read_source
    from lopa_core.page.proxies import hidden

    with hidden():  # Gradio comes with it
        from lopa_core.page.api import Allowance
        from lopa_core.page.layout import build
    from lopa_core.page.shelf import Shelf
    from lopa_core.runtime.opening import Opening, Place, announce
    from lopa_core.runtime.session import open_model
    from lopa_core.runtime.zero import on_zero, open_zero

    dtype = getattr(torch, args.dtype) if args.dtype else None
    place = Place(
        ranks=args.ranks, device=args.device, dtype=dtype, threads=args.threads or 0, tensor=args.tensor,
        connect=args.connect, secret=os.environ.get("LOPA_SECRET", ""),
    )  # fmt: skip
    try:
        source = read_source(args.model, args.adapter, shifted=args.shifted)
        if on_zero():  # its model has to be here before the page is launched, by this thread
            model = open_zero(source.fetch(), dtype=dtype)
            announce(model)
            shelf = Shelf(model, *([] if source.name == DEFAULT else [open_model(device="cpu")]))
        else:
            opening = Opening(source, place)
            if opening.wait(PATIENCE) and opening.error:
                return fail(opening.error)
            # a large model may take its time: until then the small one answers, and stays on the menu
            own = opening.model is not None and opening.source.name == DEFAULT
            shelf = Shelf(opening.model) if own else Shelf(open_model(device="cpu"), opening=opening)
    except ModelError as error:
        return fail(str(error))
    if shelf.notice():
        print(shelf.notice(), flush=True)
    page = build(shelf, max_queue=args.max_queue, allowance=Allowance(args.api_rows, args.api_seconds))
    served = serve(page, args.host, ports, health=shelf.health, auth=args.auth, browser=args.open, share=args.share)
    shelf.close()
    return 0 if served else fail(unusable(args.host, ports))


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The flags; what is not given comes from the environment, then from the defaults."""
    parser = argparse.ArgumentParser(
        prog="app.py",
        description="LoPA Side by Side: two decoders of one diffusion language model, live on one page.",
        epilog="A flag goes before its environment variable; an empty variable counts as not set.",
    )
    parser.error = lambda message: sys.exit(fail(f"{message} (see app.py --help)"))
    for flag in FLAGS:
        flag.add_to(parser)
    args = parser.parse_args(argv)
    for flag in FLAGS:
        if getattr(args, flag.name) is None:
            setattr(args, flag.name, from_environment(flag, parser))
    return args


def from_environment(flag: Flag, parser: argparse.ArgumentParser) -> Any:
    """The value of the first of the flag's variables that is set, or the flag's default."""
    for variable in flag.variables:
        text = os.environ.get(variable, "").strip()
        try:
            if text and flag.kind is account:
                return [account(line.strip()) for line in text.splitlines()]
            if text:
                return flag.kind(text)
        except argparse.ArgumentTypeError as error:
            parser.error(f"{variable}: {error}")
    return flag.default


def address(text: str) -> str:
    """A host as Gradio wants it: IPv6 addresses in brackets."""
    return f"[{text}]" if ":" in text and not text.startswith("[") else text


def whole(most: int | None = None) -> Callable[[str], int]:
    """A reader of whole numbers from 1 to `most`."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = 0
        if number < 1 or (most and number > most):
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number of 1 {f'to {most}' if most else 'or more'}")
        return number

    return read


def precision(text: str) -> str:
    if text not in DTYPES:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(DTYPES)}")
    return text


def account(text: str) -> tuple[str, str]:
    """USER:PASSWORD; the password may have colons. What was typed is not repeated: it may be a password."""
    user, _, password = text.partition(":")
    if not user.strip() or not password:
        raise argparse.ArgumentTypeError("takes USER:PASSWORD, neither of them empty")
    return user.strip(), password


def switch(text: str) -> bool:
    """A yes or no from the environment."""
    if text.lower() not in ("1", "true", "yes", "on", "0", "false", "no", "off"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither yes (1, true, yes, on) nor no (0, false, no, off)")
    return text.lower() in ("1", "true", "yes", "on")


def either(text: str) -> bool:
    """As `switch`, of a flag that has a --no- as well: unset is neither."""
    return switch(text)


@dataclass(frozen=True)
class Flag:
    """`--some-name` on the command line, LOPA_SOME_NAME (or a platform's name for it) in the environment."""

    name: str
    kind: Callable[[str], Any]
    about: str
    unset: str  # what its absence means, for --help
    default: Any = None
    metavar: str | None = None
    platform: tuple[str, ...] = ()

    @property
    def variables(self) -> tuple[str, ...]:
        return (f"LOPA_{self.name.upper()}", *self.platform)

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        how: dict[str, Any] = {"type": self.kind, "metavar": self.metavar}
        if self.kind is either:
            how = {"action": argparse.BooleanOptionalAction}
        elif self.kind is switch:
            how = {"action": "store_const", "const": True}
        elif self.kind is account:
            how["action"] = "append"
        about = f"{self.about} [{', '.join(self.variables)}; default: {self.unset}]"
        parser.add_argument(f"--{self.name.replace('_', '-')}", help=about, **how)


FLAGS = (
    Flag(
        "host", address, "address to listen on; 0.0.0.0 is every network of this machine", "127.0.0.1, this machine only",
        "127.0.0.1", "ADDRESS", ("GRADIO_SERVER_NAME",),
    ),
    Flag(
        "port", whole(65535), "port to listen on", f"{PORTS[0]}, or the next free one up to {PORTS[-1]}",
        metavar="N", platform=("PORT", "GRADIO_SERVER_PORT"),
    ),
    Flag(
        "model", str, "checkpoint folder, Hub id (ORG/NAME or ORG/NAME@REVISION), or a key that `python -m lopa_core models` lists",
        "the embedded model", metavar="NAME",
    ),
    Flag("adapter", str, "peft LoRA to merge into the model: folder or Hub id", "none, or the key's own", metavar="NAME"),
    Flag(
        "shifted", either, "whether row i of the logits predicts slot i + 1 (--no-shifted: slot i)", "as the checkpoint's family",
    ),
    Flag("device", str, "cpu, cuda, cuda:1 ...", "a GPU if there is one", metavar="NAME"),
    Flag("dtype", precision, f"{', '.join(DTYPES)}: of the network", "bfloat16 on a GPU; on a CPU float32 if that fits", metavar="TYPE"),
    Flag("threads", whole(1024), "processor threads of the network", "all", metavar="N"),
    Flag("ranks", whole(64), "workers, one per device, over which the branches are spread", "one per GPU; none without", metavar="N"),
    Flag("tensor", whole(64), "workers that share one copy of a network too large for one device", "1, each has its own", 1, "N"),
    Flag("connect", str, "workers started by torchrun, whose secret is in LOPA_SECRET", "workers of its own", metavar="HOST:PORT"),
    Flag("max_queue", whole(), "visitors that may wait for their turn", "16", 16, "N"),
    Flag(
        "api_rows", whole(), "branch forwards (rounds times branches, over all decoders) that one call of /compare or /decode may ask",
        "20000", 20_000, "N",
    ),
    Flag("api_seconds", whole(), "seconds of decoding after which such a call is ended", "300", 300, "N"),
    Flag(
        "auth", account, "ask visitors for this name and password; may be given again for another one, the variable takes one a line "
        "and keeps the password out of the process list", "the page is open to everybody who can reach it", metavar="USER:PASSWORD",
    ),
    Flag("open", switch, "open the page in a browser", "no", False),
    Flag("share", switch, "also try a public link through Gradio's tunnel; the page runs whether or not that works", "no", False),
)  # fmt: skip


def unusable(host: str, ports: Sequence[int]) -> str:
    which = f"Port {ports[0]}" if len(ports) == 1 else f"Every port from {ports[0]} to {ports[-1]}"
    return f"{which} on {host} cannot be used: another program has it, or the address is not this machine's; try --port."


def fail(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 2


if __name__ == "__main__":
    leave(main())
