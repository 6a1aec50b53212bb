"""Folders as repositories of the Hub hold them: a tiny model in each layout, between files that are never to be loaded."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from safetensors.torch import load_file, save_file

from .models import MODELS
from .vocabularies import LLADA, merges_folder, trained, whole_folder

# what must stay on the Hub: pickles run code when they are read, the others are code or are not needed
DECOYS = ("pytorch_model.bin", "modeling_dream.py", "training_args.pt", "README.md", "onnx/model.onnx", "original/model.safetensors")


def dream(folder: Path, *, shards: int = 3) -> Path:
    """Dream's layout: weights in shards with an index, vocab.json and merges.txt."""
    merges_folder(folder, first=507)  # so that the mask gets the id in config.json
    copy(folder, "dream-a", "config.json", "generation_config.json")
    tensors = load_file(MODELS / "dream-a" / "model.safetensors")
    places = {}
    for shard in range(shards):
        name, part = f"model-{shard + 1:05}-of-{shards:05}.safetensors", sorted(tensors)[shard::shards]
        save_file({key: tensors[key] for key in part}, folder / name, metadata={"format": "pt"})
        places |= dict.fromkeys(part, name)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}), encoding="utf-8")
    return decoyed(folder)


def llada(folder: Path) -> Path:
    """LLaDA's tokens in a tokenizer.json, the mask at the id in config.json; the weights in one file."""
    fillers = tuple(f"<|reserved_token_{place}|>" for place in range(trained().get_vocab_size() + len(LLADA) - 1, 511))
    whole_folder(folder, (*LLADA[:-1], *fillers, LLADA[-1]), eos_token="<|endoftext|>", chat_template="{{ messages[0]['content'] }}")
    return decoyed(copy(folder, "llada-a", "config.json", "generation_config.json", "model.safetensors"))


def adapter(folder: Path) -> Path:
    """A peft LoRA adapter of `dream`."""
    folder.mkdir(parents=True)
    return decoyed(copy(folder, "dream-a-lora", "adapter_config.json", "adapter_model.safetensors"))


def copy(folder: Path, model: str, *names: str) -> Path:
    for name in names:
        shutil.copyfile(MODELS / model / name, folder / name)
    return folder


def decoyed(folder: Path) -> Path:
    for name in DECOYS:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"not to be loaded")
    return folder
