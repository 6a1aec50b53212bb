"""Small tokenizers in the layouts of real checkpoints."""

from __future__ import annotations

import json
from pathlib import Path

from tokenizers import Regex, decoders, models, pre_tokenizers, trainers
from tokenizers import Tokenizer as Backend

SAMPLE = [
    "Mia has 12 shells. She finds 5 more and gives 3 to Leo. How many shells does she have now?\n\n",
    "def add(a, b):\n    return a + b\n\nprint(add(1234567, 89))  # it's done, we'll see, I'D say\r\n\ttabs",
    "if a<|im b|>c and x<|im y|>z: <|im <|im_end a|> a|> b<|im",
    "naïve café déjà vu, größer, 中文字符 日本語のテキスト שלום 🦜🦜 user assistant system Answer Question",
] * 4
CHATML = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|beginoftext|>", "<|mask|>")
LLADA = ("<|startoftext|>", "<|endoftext|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|mdm_mask|>")
DREAM = {
    "tokenizer_class": "DreamTokenizer", "auto_map": {"AutoTokenizer": ["tokenization_dream.DreamTokenizer", None]},
    "bos_token": "<|beginoftext|>", "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>", "mask_token": "<|mask|>",
}  # fmt: skip


def trained() -> Backend:
    """Byte-level BPE of some 500 entries, with merges that reach over blanks, marks and line ends."""
    backend = Backend(models.BPE())
    split = pre_tokenizers.Split(Regex(r"\s?\S+|\s+"), behavior="isolated")
    backend.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    backend.train_from_iterator(SAMPLE, trainers.BpeTrainer(vocab_size=500, initial_alphabet=alphabet, show_progress=False))
    return backend


def entry(text: str, **flags: bool) -> dict[str, object]:
    """An added token as tokenizer_config.json and tokenizer.json write it."""
    return {"content": text, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True} | flags


def write(folder: Path, name: str, content: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(content), encoding="utf-8")


def merges_folder(folder: Path, *, first: int | None = None, plain: tuple[str, ...] = ("<think>",), **config: object) -> Path:
    """Dream's layout: vocab.json, merges.txt and tokenizer_config.json with CHATML's tokens, and `plain` that are not special.

    first: the id of the first added token, else the one behind the vocabulary.
    """
    folder.mkdir(parents=True, exist_ok=True)
    trained().model.save(str(folder))
    size = len(json.loads((folder / "vocab.json").read_text(encoding="utf-8")))
    tokens = [entry(text) for text in CHATML] + [entry(text, special=False) for text in plain]
    decoder = {str((first or size) + place): token for place, token in enumerate(tokens)}
    write(folder, "tokenizer_config.json", DREAM | {"added_tokens_decoder": decoder} | config)
    return folder


def whole_folder(folder: Path, special: tuple[str, ...], **config: object) -> Path:
    """The layout with a tokenizer.json; `special` are added behind the vocabulary."""
    folder.mkdir(parents=True, exist_ok=True)
    backend = trained()
    backend.add_special_tokens(list(special))
    backend.save(str(folder / "tokenizer.json"))
    write(folder, "tokenizer_config.json", config)
    return folder
