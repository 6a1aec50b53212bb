"""ZeroGPU's own package at work on a machine without a GPU: `python -m tests.helpers.zero_space FOLDER` prints what it saw as JSON.

Real are the package, its emulation of CUDA while a model is loaded, its file of weights, its forked processes and their pickles.
Stood in for: the service that lends GPUs, by a local server, and the two functions that touch a GPU, which leave tensors where
they are.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import gradio as gr
import torch

from lopa_core.model.source import read_source
from lopa_core.runtime.crew import PoolFault
from lopa_core.runtime.session import Model, open_model

from .models import MODELS
from .traces import PROMPT, SMALL

LANES = {"confidence": SMALL.decoder("confidence"), "lopa": SMALL}


class Service(BaseHTTPRequestHandler):
    """Lends a GPU to whoever asks. asked: paths and what came with them; full: whether nobody gets one any more."""

    asked: list[tuple[str, dict[str, list[str]]]] = []
    full = False

    def do_POST(self) -> None:
        path = urlsplit(self.path)
        self.asked.append((path.path, parse_qs(path.query)))
        lent = {"idle": True, "nvidiaIndex": 0, "nvidiaUUID": "GPU", "allowToken": "token"}
        refused = self.full and path.path == "/schedule"
        answer = json.dumps({"left": 3, "wait": 600} if refused else lent).encode()
        self.send_response(429 if refused else 200)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(answer))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        pass


def stand_in_for_cuda() -> None:
    """What a build of torch without CUDA lacks for the package to be imported."""
    torch.version.cuda = "12.8"
    torch._C._cuda_init = lambda: None
    torch.cuda._is_in_bad_fork = bool


def stand_in_for_the_gpu() -> None:
    import spaces.zero.torch as package
    from spaces.zero.torch import patching

    def move(callback: Callable[[int], None] | None = None) -> None:
        for pack in patching.tensor_packs:
            with open(pack.path(), "rb") as file:
                for tensor, size, padded in [each for batch in pack.batches for each in batch] + pack.big_tensors:
                    flat = torch.frombuffer(bytearray(file.read(padded))[:size], dtype=tensor.dtype)
                    for fake in pack.fakes[tensor]:
                        fake.data = flat.as_strided(tensor.shape, tensor.stride())

    package.init, package.move = lambda uuid: None, move


def tokens(model: Model) -> dict[str, list[int]]:
    race = model.race(PROMPT, LANES)
    for _ in race.run():
        pass
    return {name: tape.tokens for name, tape in race.tapes.items()}


def left_early(model: Model) -> int:
    """Rounds that were told."""
    race = model.race(PROMPT, LANES)
    rounds = race.run()
    for _ in range(9):
        next(rounds)
    rounds.close()
    return sum(len(tape.rounds) for tape in race.tapes.values())


def killed(model: Model) -> str:
    child = int(next(query["pid"][0] for path, query in Service.asked if path == "/allow"))
    try:
        for _ in model.race(PROMPT, LANES).run():
            os.kill(child, signal.SIGKILL)
    except PoolFault as fault:
        return str(fault)
    return ""


def refused(model: Model) -> str:
    Service.full = True
    try:
        tokens(model)
    except PoolFault as fault:
        return str(fault)
    return ""


def main(folder: str) -> None:
    service = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=service.serve_forever, daemon=True).start()
    os.environ |= {
        "SPACES_ZERO_GPU": "true", "SPACES_ZERO_DEVICE_API_URL": f"http://127.0.0.1:{service.server_port}",
        "ZEROGPU_OFFLOAD_DIR": str(Path(folder) / "tensors"),
    }  # fmt: skip
    torch.set_num_threads(1)
    stand_in_for_cuda()
    from lopa_core.runtime.zero import open_zero

    checkpoint = read_source(MODELS / "dream-a", MODELS / "dream-a-lora").fetch()
    model = open_zero(checkpoint, dtype=torch.float32)
    stand_in_for_the_gpu()
    with gr.Blocks(analytics_enabled=False) as page:
        gr.Markdown("The package waits for a launch.")
    page.launch(prevent_thread_lock=True, quiet=True)
    with ThreadPoolExecutor(1) as visitor:  # a page's events never run in the main thread
        local = visitor.submit(lambda: tokens(open_model(checkpoint, device="cpu", dtype=torch.float32)))
        seen = {"loaded to": str(model.network.device), "here": local.result()}
        seen |= {each.__name__: visitor.submit(each, model).result() for each in (tokens, left_early, killed, refused)}
    print(json.dumps(seen | {"asked": Service.asked}))
    page.close(verbose=False)


if __name__ == "__main__":
    main(sys.argv[1])
