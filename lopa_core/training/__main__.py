"""`python -m lopa_core.training --out DIR`: trains the embedded model from scratch, on generated problems.

Runs on two CPU cores in one sitting (70 minutes were measured), faster on a GPU. Interrupt it and give --resume to go on.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
from dataclasses import fields
from pathlib import Path

import torch
from tokenizers import Tokenizer
from tqdm import tqdm

from ..io.console import print_anything
from ..io.writing import WriteError, append, make_folder, write_text
from ..model.checkpoint import export
from ..model.errors import ModelError
from ..model.family import parse_config
from ..model.network import Transformer
from ..runtime.device import usable
from .start import take_over
from .train import Recipe, Trainer
from .vocabulary import EOS, MASK, PROMPT_TEMPLATE, train_tokenizer

SAVE_EVERY = 100


def main() -> int:
    """Train as the flags say; bad flags and an interruption are told in a sentence."""
    print_anything()
    args = parse(sys.argv[1:])
    try:
        return train(args)
    except (ModelError, WriteError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"Stopped. The last checkpoint, at most {SAVE_EVERY} steps old, is in {args.out}: go on with --resume.", file=sys.stderr)
        return 130


def train(args: argparse.Namespace) -> int:
    device = usable(args.device)
    torch.set_num_threads(args.threads or torch.get_num_threads())
    torch.manual_seed(args.seed)
    folder = args.out / "checkpoint"
    started = (folder / "training.safetensors").exists()
    if started and not args.resume:
        print(f"{folder} holds a started training: give --resume to go on, or another --out.", file=sys.stderr)
        return 2
    make_folder(args.out)
    tokenizer = make_tokenizer(args)
    config = dream_config(args, tokenizer)
    network = Transformer(parse_config(config))
    initialise(network)
    if args.start and not started:
        take_over(network, tokenizer, args.start)
    recipe = Recipe(**{field.name: getattr(args, field.name) for field in fields(Recipe) if field.name != "block_sizes"})
    compile = args.compile if args.compile is not None else shutil.which("g++") is not None or args.device != "cpu"
    trainer = Trainer(network, tokenizer, recipe, compile=compile, device=device)
    if started:
        trainer.resume(folder)
    last = min(args.until or recipe.steps, recipe.steps)
    run(trainer, folder, args.out / "log.jsonl", last)
    if last < recipe.steps:
        return 0
    with torch.no_grad():
        for name, value in network.named_parameters():
            value.copy_(trainer.average[name])
    export(network, args.out, config)
    return 0


def run(trainer: Trainer, folder: Path, log: Path, total: int) -> None:
    """Train up to step `total` with a progress bar; a checkpoint every SAVE_EVERY steps and at the end."""
    smooth: dict[str, float] = {}
    with tqdm(total=total, initial=trainer.step, unit="step", dynamic_ncols=True, mininterval=5) as bar:
        while trainer.step < total:
            facts = trainer.advance()
            for key, value in facts.items():
                if not math.isnan(value):
                    smooth[key] = value if key not in smooth else smooth[key] + 0.03 * (value - smooth[key])
            bar.update()
            speed = f"{smooth['tokens'] / smooth['seconds']:.0f} tokens/s"
            bar.set_postfix_str(f"loss {smooth['loss']:.3f}, right results {smooth.get('results', 0):.2f}, {speed}")
            if trainer.step % SAVE_EVERY == 0 or trainer.step == total:
                trainer.save(folder)
                append(log, json.dumps({"step": trainer.step} | {k: round(v, 4) for k, v in smooth.items()}) + "\n")


def make_tokenizer(args: argparse.Namespace) -> Tokenizer:
    """The tokenizer of this run: read back when it was made before, so that a resumed run keeps it."""
    path = args.out / "tokenizer.json"
    if path.exists():
        return Tokenizer.from_file(str(path))
    tokenizer = train_tokenizer(args.vocab, args.seed)
    settings = {"eos_token": EOS, "pad_token": EOS, "mask_token": MASK, "chat_template": PROMPT_TEMPLATE}
    write_text(args.out / "tokenizer_config.json", json.dumps(settings, indent=2) + "\n")
    write_text(path, tokenizer.to_str(pretty=True))  # the last of the two: where it is, both are
    return tokenizer


def dream_config(args: argparse.Namespace, tokenizer: Tokenizer) -> dict:
    """config.json in Dream's layout."""
    eos, mask = tokenizer.token_to_id(EOS), tokenizer.token_to_id(MASK)
    return {
        "architectures": ["DreamModel"], "model_type": "Dream", "hidden_act": "silu",
        "vocab_size": args.vocab, "hidden_size": args.hidden, "intermediate_size": args.ffn,
        "num_hidden_layers": args.layers, "num_attention_heads": args.hidden // 64, "num_key_value_heads": args.hidden // 128,
        "max_position_embeddings": 512, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "rope_scaling": None,
        "tie_word_embeddings": True, "eos_token_id": eos, "pad_token_id": eos, "mask_token_id": mask, "torch_dtype": "bfloat16",
    }  # fmt: skip


def initialise(network: Transformer) -> None:
    """Normal weights of 0.02; matrices that write to the residual stream start smaller, by the number of their layers."""
    depth = 2 * len(network.layers)
    for name, value in network.named_parameters():
        if value.ndim == 2:
            torch.nn.init.normal_(value, std=0.02 / math.sqrt(depth) if name.endswith(("out.weight", "down.weight")) else 0.02)
        elif name.endswith("bias"):
            torch.nn.init.zeros_(value)


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lopa_core.training", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the model, its checkpoint and its log")
    parser.add_argument("--start", type=Path, metavar="DIR", help="begin with this model's weights instead of random ones")
    parser.add_argument("--until", type=int, metavar="STEP", help="stop there, to go on with --resume in another sitting")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint in --out")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads (default: torch's choice)")
    parser.add_argument("--compile", action=argparse.BooleanOptionalAction, help="compile the layer (default: if a compiler is there)")
    for field in fields(Recipe):
        if field.name != "block_sizes":
            kind = float if isinstance(field.default, float) else int
            parser.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=field.default, help=f"default {field.default}")
    for name, size in {"vocab": 1536, "hidden": 256, "layers": 6, "ffn": 704}.items():
        parser.add_argument(f"--{name}", type=int, default=size, help=f"default {size}")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
