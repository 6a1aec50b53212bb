"""The demo's entry: flags and environment -> model -> page. `python app.py --help` tells the flags.

Bad input (a damaged model, a port in use) ends with exit code 2 and one sentence on standard error.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Sequence

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # read when gradio is imported


def main(argv: Sequence[str] | None = None) -> int:
    args = parse(argv)
    import torch  # after the flags, so that --help and a wrong flag answer at once

    from lopa_core.model.errors import ModelError
    from lopa_core.model.presets import DEFAULT, PRESETS
    from lopa_core.runtime.session import open_model

    if args.threads:
        torch.set_num_threads(args.threads)
    dtype = getattr(torch, args.dtype) if args.dtype else None
    try:
        model = open_model(args.model or PRESETS[DEFAULT].folder, adapter=args.adapter, device=args.device, dtype=dtype)
    except ModelError as error:
        return fail(str(error))
    return serve(model, args)


def serve(model: object, args: argparse.Namespace) -> int:
    """Launch the page and wait for SIGTERM or Ctrl-C."""
    from lopa_core.page.layout import build, look

    over = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: over.set())
    page = build(model)
    try:
        _, local, public = page.launch(
            server_name=args.host, server_port=args.port, share=args.share, prevent_thread_lock=True, quiet=True,
            inbrowser=args.open,
            footer_links=["api"], run_history=False, ssr_mode=False, **look(),
        )  # fmt: skip
    except OSError:
        return fail(
            f"Port {args.port} on {args.host} cannot be used: another program has it, or the address is not this machine's; try --port."
        )
    print(f"LoPA Side by Side runs on {public or local}", flush=True)
    over.wait()
    page.close(verbose=False)
    return 0


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    env = os.environ
    parser = argparse.ArgumentParser(
        prog="app.py", description="LoPA Side by Side: two decoders of one diffusion language model, live on one page."
    )
    parser.error = lambda message: sys.exit(fail(f"{message} (see app.py --help)"))
    parser.add_argument(
        "--host", default=env.get("GRADIO_SERVER_NAME", "127.0.0.1"), help="address to listen on (GRADIO_SERVER_NAME; %(default)s)"
    )
    port = env.get("PORT") or env.get("GRADIO_SERVER_PORT") or "7860"
    parser.add_argument("--port", type=int, default=port, help="port to listen on (PORT or GRADIO_SERVER_PORT; %(default)s)")
    parser.add_argument("--model", default=env.get("LOPA_MODEL"), metavar="DIR", help="checkpoint folder (LOPA_MODEL; the embedded model)")
    parser.add_argument(
        "--threads", type=int, default=env.get("LOPA_THREADS"), metavar="N", help="processor threads of the network (LOPA_THREADS; all)"
    )
    parser.add_argument("--adapter", metavar="DIR", help="peft LoRA folder to merge into the model")
    parser.add_argument("--device", help="cpu, cuda, cuda:1 ... (a GPU if there is one)")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), help="of the network (bfloat16 on a GPU, float32 on a CPU)")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument("--share", action="store_true", help="also open a public link through Gradio's tunnel")
    args = parser.parse_args(argv)
    if not 0 < args.port < 65536:
        parser.error(f"argument --port: {args.port} is no port, take 1 to 65535")
    if args.threads is not None and args.threads < 1:
        parser.error(f"argument --threads: {args.threads} is too few, take 1 or more")
    return args


def fail(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
