"""ModernBERT as a masked diffusion model: transformers' own class behind the face that engines know.

Every token of an encoder sees all others, so keys and values of a prefix would be stale with the next token. What is
remembered of the prefix is its tokens, and every forward reads the whole sequence: no approximation, no saving.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from .errors import ModelError
from .family import ModelConfig, check_attention
from .files import read_object
from .naming import check_known
from .weights import Progress, Reader, Stored, check_complete

if TYPE_CHECKING:
    from transformers import ModernBertConfig, ModernBertForMaskedLM


class TokenCache:
    """Tokens [rows, length] of the prefix and, behind it, of the last window."""

    kept = 0  # it has no keys and values that could be stale

    def __init__(self, rows: int, length: int, device: torch.device) -> None:
        self.tokens = torch.zeros(rows, length, dtype=torch.long, device=device)

    def whole(self, window: Tensor, start: int) -> Tensor:
        """Keep the window [B, W] behind the prefix; the whole sequence [B, start + W]."""
        rows, end = window.shape[0], start + window.shape[1]
        self.tokens[:rows, start:end] = window
        return self.tokens[:rows, :end]

    def commit(self, row: int, start: int, end: int, rows: int) -> None:
        """Copy the winner's slots start..end to all `rows` in use: they are part of the common prefix from now on."""
        self.fill(self.span(row, start, end), start, end, rows)

    def span(self, row: int, start: int, end: int) -> Tensor:
        """A row's tokens of slots start..end [end - start]."""
        return self.tokens[row, start:end].clone()

    def fill(self, span: Tensor, start: int, end: int, rows: int) -> None:
        """Write a `span`, of another cache maybe, into all `rows` in use."""
        self.tokens[:rows, start:end] = span


class Encoder(nn.Module):
    """A masked language model as a Network. The sequence goes in as it is: no [CLS] or [SEP] is added."""

    def __init__(self, config: ModelConfig, model: ModernBertForMaskedLM) -> None:
        super().__init__()
        self.config, self.model = config, model

    @property
    def device(self) -> torch.device:
        return self.model.device

    @property
    def dtype(self) -> torch.dtype:
        return self.model.dtype

    def new_cache(self, rows: int, length: int) -> TokenCache:
        """Room for the tokens of `rows` branches of `length` slots."""
        return TokenCache(rows, length, self.device)

    def forward(
        self, tokens: Tensor, *, start: int = 0, mask: Tensor | None = None, cache: TokenCache | None = None,
        columns: Tensor | None = None, positions: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """Hidden rows [B, W, hidden] of `tokens` [B, W] at positions start..start+W, the cache's prefix before them.

        mask: bool [B or 1, 1, 1, start + W], True = may be seen: where rows end; None: everything is seen.
        columns: [B, M] the columns that are asked for, if not all: the result is [B, M, hidden].
        Raises ModelError for a mask that differs from query to query, and for positions of one's own.
        """
        if positions is not None:
            raise ModelError(f"{self.config.family} counts positions by itself: take a decoder without superposed copies.")
        whole = tokens if cache is None else cache.whole(tokens, start)
        if whole.shape[1] > self.config.max_positions:
            raise ValueError(f"positions up to {whole.shape[1]} exceed this model's {self.config.max_positions}")
        if mask is not None:
            if mask.shape[2] > 1:
                check_attention(self.config, "block_causal")
            mask = mask[:, 0, 0].expand(len(whole), -1)
        hidden = self.model.model(input_ids=whole, attention_mask=mask).last_hidden_state[:, -tokens.shape[1] :]
        if columns is None:
            return hidden
        return hidden.gather(1, columns[:, :, None].expand(-1, -1, hidden.shape[-1]))

    def head(self, hidden: Tensor) -> Tensor:
        """Logits [.., vocabulary] of hidden rows."""
        return self.model.decoder(self.model.head(hidden))


def load_encoder(
    folder: Path, config: ModelConfig, found: dict[str, Stored], dtype: torch.dtype, device: torch.device, progress: Progress | None
) -> Encoder:
    """Read a ModernBERT checkpoint from `found` tensors. Raises ModelError where a key is missing, extra or mis-shaped."""
    from transformers import ModernBertForMaskedLM  # seconds of import, which no other family needs
    from transformers.utils import logging

    theirs = their_config(folder, config)
    shapes = expected(folder, theirs)
    check_complete(folder, found, shapes)
    reader = Reader(found, shapes, progress)
    check_known(config, found.keys() - shapes.keys())
    state = {key: torch.empty(shape, dtype=dtype) for key, shape in shapes.items()}
    for key, value in state.items():
        reader.fill(value, key, None)
    logging.disable_progress_bar()
    # the tensors, not the folder: the library would choose files by rules of its own
    model = ModernBertForMaskedLM.from_pretrained(None, config=theirs, state_dict=state, dtype=dtype, attn_implementation="sdpa")
    return Encoder(config, model.to(device)).eval().requires_grad_(False)


def their_config(folder: Path, config: ModelConfig) -> ModernBertConfig:
    """config.json as transformers reads it. Raises ModelError where it cannot."""
    from transformers import ModernBertConfig

    path = folder / "config.json"
    try:
        return ModernBertConfig.from_dict(read_object(path, missing=f"{path} is gone.") | {"tie_word_embeddings": config.tied})
    except ModelError:
        raise
    except Exception as error:  # a config can be wrong in as many ways as the library has lines
        raise ModelError(unbuildable(folder, error)) from None


def expected(folder: Path, theirs: ModernBertConfig) -> dict[str, tuple[int, ...]]:
    """The shape of every parameter that this config.json implies, a tied one once."""
    from transformers import ModernBertForMaskedLM

    try:
        with torch.device("meta"):
            model = ModernBertForMaskedLM(theirs)
    except Exception as error:  # as above
        raise ModelError(unbuildable(folder, error)) from None
    return {key: tuple(value.shape) for key, value in model.named_parameters()}


def unbuildable(folder: Path, error: Exception) -> str:
    return f"transformers cannot build a ModernBERT from {folder / 'config.json'}: {' '.join(str(error).split())}"
