"""How much memory loading takes: `python -m tests.model.bench_loading`. Peak of a child process against the checkpoint's size, as JSON."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from safetensors.torch import save_file

from lopa_core.model.checkpoint import file_shapes, load
from lopa_core.model.family import parse_config
from lopa_core.model.network import Transformer

from ..helpers.models import dream_config

SHARDS = 3


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.model.bench_loading", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=300, help="size of the checkpoint (%(default)s)")
    parser.add_argument("--dtype", default="bfloat16", help="of the files, and of the network unless --as is given (%(default)s)")
    parser.add_argument("--as", dest="wanted", metavar="DTYPE", help="of the network")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        size = write_random(Path(folder), args.megabytes * 1e6, getattr(torch, args.dtype))
        peak, seconds = measure(Path(folder), args.wanted or args.dtype)
    told = {"megabytes": size / 1e6, "shards": SHARDS, "peak_megabytes": peak / 1e6, "ratio": peak / size, "seconds": seconds}
    print(json.dumps({name: round(value, 3) for name, value in told.items()}))


def write_random(folder: Path, size: float, dtype: torch.dtype) -> int:
    """A Dream checkpoint of about `size` bytes; returns its size. The shapes' proportions are those of a 7B model."""
    hidden = 512
    raw = dream_config(
        vocab_size=16384, hidden_size=hidden, intermediate_size=5 * hidden, num_attention_heads=8, max_position_embeddings=512
    )
    layer = sum(value.numel() for value in meta(raw).layers[0].parameters())
    raw["num_hidden_layers"] = max(1, round((size / dtype.itemsize - 2 * 16384 * hidden) / layer))
    names, total = {}, 0
    shapes = file_shapes(meta(raw))
    for shard in range(SHARDS):
        keys = list(shapes)[shard * len(shapes) // SHARDS : (shard + 1) * len(shapes) // SHARDS]
        file = f"model-{shard + 1:05}-of-{SHARDS:05}.safetensors"
        tensors = {key: torch.randn(shapes[key]).to(dtype) for key in keys}
        save_file(tensors, folder / file)
        names |= dict.fromkeys(keys, file)
        total += sum(value.nbytes for value in tensors.values())
    (folder / "config.json").write_text(json.dumps(raw))
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": total}, "weight_map": names}))
    return total


def meta(raw: dict) -> Transformer:
    with torch.device("meta"):
        return Transformer(parse_config(raw))


def measure(folder: Path, dtype: str) -> tuple[int, float]:
    """(bytes, seconds): what loading adds to a process at its peak, and how long it takes there."""
    command = [sys.executable, "-c", "from tests.model.bench_loading import child; child()", str(folder), dtype]
    told = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=Path(__file__).parents[2])
    peak, seconds = told.stdout.split()
    return int(peak), float(seconds)


def child() -> None:
    folder, dtype = sys.argv[1:]
    before = held("VmRSS")
    began = time.perf_counter()
    network = load(folder, dtype=getattr(torch, dtype))
    seconds = time.perf_counter() - began
    assert all(value.device.type == "cpu" for value in network.parameters())  # and it is still here
    print(held("VmHWM") - before, seconds)


def held(what: str) -> int:
    """Bytes of this process as Linux counts them: VmRSS now, VmHWM at its peak (getrusage's peak is the parent's too)."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status[what].split()[0]) * 1024


if __name__ == "__main__":
    main()
