"""Flags shared by the commands: a model, a prompt, and one flag for every decode setting."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch

from ..decode.settings import DecodeSettings, SettingsError
from ..io.reading import MARK, EncodingError, decode_text
from ..model.errors import ModelError
from ..model.hub_progress import console_bar
from ..model.precision import DTYPES
from ..model.source import Source, read_source
from ..runtime.opening import Place, open_checkpoint
from ..runtime.session import LocalModel, Model

LONGEST_PROMPT_FILE = 2**20


def add_model(parser: argparse.ArgumentParser, *, spread: bool = True) -> None:
    """spread: whether the branches may be spread over workers."""
    group = parser.add_argument_group("model")
    group.add_argument("--model", metavar="NAME", help="folder, Hub id or key (see `models`; default: the embedded model)")
    group.add_argument("--adapter", metavar="NAME", help="peft LoRA to merge, folder or Hub id")
    shifted = "whether row i of the logits predicts slot i + 1 (default: as the checkpoint's family)"
    group.add_argument("--shifted", action=argparse.BooleanOptionalAction, default=None, help=shifted)
    group.add_argument("--device", help="cpu, cuda, cuda:1 ... (default: a GPU if there is one)")
    group.add_argument("--dtype", choices=DTYPES, help="default: bfloat16 on a GPU, float32 on a CPU if that fits")
    group.add_argument("--threads", type=int, default=0, help="CPU threads (default: torch's choice)")
    if not spread:
        return
    group.add_argument(
        "--ranks", type=int, metavar="N", help="workers the branches are spread over; 0: this process (default: one per GPU, 0 on a CPU)"
    )
    group.add_argument("--tensor", type=int, default=1, metavar="N", help="workers that share one copy of the network (default 1)")


def add_prompt(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("prompt (one of)").add_mutually_exclusive_group(required=True)
    group.add_argument("--prompt", metavar="TEXT")
    group.add_argument("--prompt-file", type=Path, metavar="FILE", help="a text file in UTF-8")
    group.add_argument("--prompt-ids", metavar="1,2,3", help="token ids, no template")


def add_settings(parser: argparse.ArgumentParser) -> None:
    """One flag per field of DecodeSettings, and --reference for the official code's choices."""
    group = parser.add_argument_group("decoding (defaults are the model's preset)")
    for field in fields(DecodeSettings):
        flag = f"--{field.name.replace('_', '-')}"
        text = f"{field.metadata['help']} (default {field.default})"
        if isinstance(field.default, bool):
            group.add_argument(flag, action=argparse.BooleanOptionalAction, default=None, help=text)
        else:
            choices = field.metadata.get("choices")
            kind = float if isinstance(field.default, float) else str if choices else int
            group.add_argument(flag, type=kind, choices=choices, default=None, help=text)
    group.add_argument("--reference", action="store_true", help="the official code's choices wherever ours differ")


def read_settings(args: argparse.Namespace, source: Source) -> DecodeSettings:
    """Settings of the model, then the flags that were given, then --reference."""
    given = {field.name: getattr(args, field.name) for field in fields(DecodeSettings)}
    chosen: dict[str, Any] = {**source.settings, **{name: value for name, value in given.items() if value is not None}}
    if args.reference:
        return DecodeSettings(**chosen | {"round_down": True}).reference()
    return DecodeSettings(**chosen)


def read_model_name(args: argparse.Namespace) -> Source:
    """What --model and --adapter mean, with what the checkpoint's small files tell, before its weights are loaded. Raises ModelError."""
    with console_bar() as progress:
        return read_source(args.model, args.adapter, shifted=args.shifted).settle(progress)


def read_model(args: argparse.Namespace, source: Source) -> Model:
    """Fetch it, with a bar, and open it, in workers if --ranks says so. Raises ModelError, also for a device that is not there."""
    if args.ranks is not None and args.ranks < 0:
        raise ModelError("--ranks must be 0 or more.")
    place = Place(ranks=args.ranks, tensor=args.tensor, device=args.device, dtype=read_dtype(args), threads=read_threads(args))
    return opened(source, place)


def read_network(args: argparse.Namespace, source: Source, dtype: torch.dtype | None = None) -> LocalModel:
    """The same in this process; `dtype` goes before the flag. Raises ModelError."""
    return opened(source, Place(ranks=0, device=args.device, dtype=dtype or read_dtype(args), threads=read_threads(args)))


def opened(source: Source, place: Place) -> Model:
    """Fetch and open it, with a bar; what is to be said of it goes to standard error. Raises ModelError."""
    with console_bar() as progress:
        model = open_checkpoint(source, place, progress)
    for notice in model.notices:
        print(f"lopa_core: {notice}", file=sys.stderr)
    return model


def read_dtype(args: argparse.Namespace) -> torch.dtype | None:
    return getattr(torch, args.dtype) if args.dtype else None


def read_threads(args: argparse.Namespace) -> int:
    if args.threads < 0:
        raise ModelError("--threads must be 1 or more.")
    return args.threads


def read_numbers(flag: str, text: str, kind: type[int] | type[float]) -> tuple[Any, ...]:
    """The numbers of a flag, with commas between them. Raises SettingsError."""
    try:
        return tuple(kind(part) for part in text.split(","))
    except ValueError:
        words = "whole numbers" if kind is int else "numbers"
        raise SettingsError(f"{flag} takes {words} with commas between them, not {text!r}.") from None


def read_prompt(args: argparse.Namespace, model: Model) -> tuple[str, list[int]]:
    """(text, token ids) of the prompt. Raises SettingsError if it cannot be read."""
    if args.prompt_ids is not None:
        try:
            return "", [int(part) for part in args.prompt_ids.split(",")]
        except ValueError:
            raise SettingsError(f"--prompt-ids takes whole numbers with commas between them, not {args.prompt_ids!r}.") from None
    text = typed(args.prompt) if args.prompt is not None else read_text(args.prompt_file)
    return text.strip(), model.encode(text)


def typed(text: str) -> str:
    """The text of an argument, also of one in UTF-8 where the locale has another encoding, such as the ASCII of LANG=C."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # it holds bytes that are no characters of the locale
        with suppress(UnicodeError):  # nor of UTF-8: the tokenizer says so
            text = os.fsencode(text).decode("utf-8")
    return text.removeprefix(MARK)


def read_text(path: Path) -> str:
    try:
        if path.stat().st_size > LONGEST_PROMPT_FILE:
            raise SettingsError(f"{path} is larger than {LONGEST_PROMPT_FILE // 2**20} MB, which is no prompt.")
        return decode_text(path.read_bytes())
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}.") from None
    except EncodingError as error:
        raise SettingsError(f"{path} {error}.") from None
