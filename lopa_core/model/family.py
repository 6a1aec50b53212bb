"""What differs between the families of diffusion language models: facts read from a checkpoint's files, never guessed.

The family is told by config.json's model_type: which body it has (bodies.py), whether its row i predicts slot i or,
as in models that were initialised from an autoregressive one without moving its rows, slot i + 1, and whether it was
trained with full or with block-causal attention. Everything else is a number in `ModelConfig`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import bodies
from .errors import ModelError
from .files import read_object
from .special import SpecialTokens, special_tokens


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelConfig:
    """Shape and conventions of one checkpoint.

    Lengths are in tokens, sizes in features. `shifted`: row i holds the prediction of slot i + 1 (Dream), else of
    slot i. `qk_norm`: queries and keys are normed per head. `attention`: how it was trained, "full" or "block_causal",
    and `block_size` with which blocks, where config.json tells. `end_ids`: all tokens that end an answer, `eos_id`
    the first of them.
    """

    family: str
    vocab_size: int
    hidden_size: int
    ffn_size: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    rope_theta: float
    norm_eps: float
    qkv_bias: bool
    tied: bool
    shifted: bool
    max_positions: int
    mask_id: int
    eos_id: int | None
    qk_norm: bool = False
    attention: str = "full"
    block_size: int | None = None
    end_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        sizes = ["vocab_size", "hidden_size", "ffn_size", "layers", "heads", "kv_heads", "head_dim", "max_positions"]
        for name in sizes + ["block_size"] * (self.block_size is not None):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ModelError(f"config.json: {name} must be a positive whole number, not {value!r}.")
        if self.heads % self.kv_heads:
            raise ModelError(f"config.json: {self.heads} query heads cannot share {self.kv_heads} key/value heads.")
        if self.head_dim % 2:
            raise ModelError(f"config.json: the head size {self.head_dim} is odd; rotary embeddings need pairs.")
        if not self.end_ids and self.eos_id is not None:
            object.__setattr__(self, "end_ids", (self.eos_id,))
        for name, token in (("mask", self.mask_id), *(("end-of-text", token) for token in self.end_ids)):
            if not isinstance(token, int) or not 0 <= token < self.vocab_size:
                raise ModelError(f"config.json: the {name} token {token!r} lies outside the vocabulary of {self.vocab_size}.")

    @property
    def encoder(self) -> bool:
        """Whether it always reads the whole sequence at once (model/encoder.py) and so keeps no keys and values."""
        return self.family == "modernbert"


@dataclass(frozen=True, slots=True)
class Family:
    """body: reads the shape. shifted, attention: as in ModelConfig."""

    body: Callable[[Mapping[str, Any]], dict[str, Any]]
    shifted: bool = False
    attention: str = "full"


FAMILIES = {
    "dream": Family(bodies.qwen2, shifted=True),
    "llada": Family(bodies.llada),
    "sdar": Family(bodies.qwen3, attention="block_causal"),
    "a2d-qwen3": Family(bodies.qwen3),
    "a2d-qwen2": Family(bodies.qwen2),
    "a2d-llama": Family(bodies.llama),
    "qwen3": Family(bodies.qwen3),
    "qwen2": Family(bodies.qwen2),
    "llama": Family(bodies.llama),
    "modernbert": Family(bodies.modernbert),
}
_EXPERTS = "it is a mixture of experts, and this network has one feed-forward per layer"
_UNIFORM = "it is trained with uniform noise and has no mask token, so there is nothing to look ahead at"
REFUSED = {
    **dict.fromkeys(("llada2_moe", "llada_moe", "lladamoe", "sdar_moe", "qwen3_moe"), _EXPERTS),
    **dict.fromkeys(("diffusion_gemma", "diffusion_gemma_text"), _UNIFORM),
}
NAMES = "Dream, LLaDA, SDAR, A2D, Qwen2, Qwen3, Llama and ModernBERT"
NO_TOKENS = SpecialTokens()


def read_config(folder: str | Path) -> ModelConfig:
    """Read a checkpoint folder's config.json, generation_config.json and special tokens; only the first has to be there.

    Raises ModelError if something is missing, not JSON, contradictory or of a family that is not supported.
    """
    folder = Path(folder)
    raw = read_object(folder / "config.json", missing=f"{folder} holds no config.json: give the folder of a diffusion language model.")
    generation = folder / "generation_config.json"
    told = read_object(generation, missing=f"{generation} is gone.") if generation.exists() else {}
    return parse_config(raw, special_tokens(folder), told)


def parse_config(raw: Mapping[str, Any], tokens: SpecialTokens = NO_TOKENS, generation: Mapping[str, Any] | None = None) -> ModelConfig:
    """Turn a checkpoint's config.json into a `ModelConfig`. tokens: of its tokenizer; generation: generation_config.json."""
    name = str(raw.get("model_type", "")).lower()
    family = find_family(name, raw)
    refuse_quantised(raw)
    try:
        shape = family.body(raw)
    except KeyError as error:
        raise ModelError(f"config.json lacks {error.args[0]!r}, which a {name} checkpoint needs.") from None
    ends = end_tokens((raw, generation or {}), (tokens.eos, tokens.eot), shape["vocab_size"])
    block_size = raw.get("block_size") if family.attention == "block_causal" else None
    return ModelConfig(
        family=name, shifted=family.shifted, attention=family.attention, block_size=block_size,
        mask_id=mask_token(raw, tokens), end_ids=ends, eos_id=ends[0] if ends else None, **shape,
    )  # fmt: skip


def find_family(name: str, raw: Mapping[str, Any]) -> Family:
    """The family of this model_type. Raises ModelError that says why where it is not supported."""
    experts = raw.get("num_experts")
    if name in FAMILIES and not experts:
        return FAMILIES[name]
    why = REFUSED.get(name) or (_EXPERTS if experts else "this network does not know it")
    raise ModelError(f"model_type {raw.get('model_type')!r} is not supported: {why}; take one of {NAMES}.")


def refuse_quantised(raw: Mapping[str, Any]) -> None:
    """Raise ModelError for weights that only the quantiser's own code could read."""
    quantised = raw.get("quantization_config")
    if quantised:
        method = quantised.get("quant_method", "unknown") if isinstance(quantised, Mapping) else quantised
        raise ModelError(f"These weights are quantised ({method}), which is not supported: take the original checkpoint in bfloat16.")


def mask_token(raw: Mapping[str, Any], tokens: SpecialTokens) -> int:
    """The mask's id, from config.json or the tokenizer. Raises ModelError where they disagree or neither has one."""
    told = raw.get("mask_token_id")
    if told is None and tokens.mask is None:
        raise ModelError(
            "Neither 'mask_token_id' of config.json nor the tokenizer's files name a mask token: this is an ordinary autoregressive "
            "checkpoint, or its tokenizer's files are missing; take a masked diffusion language model."
        )
    if told is not None and tokens.mask is not None and told != tokens.mask:
        raise ModelError(f"The mask token is {told!r} in config.json, but {tokens.mask} in the tokenizer's files: they must agree.")
    return tokens.mask if told is None else told


def end_tokens(told: Iterable[Mapping[str, Any]], named: Iterable[int | None], vocab_size: int) -> tuple[int, ...]:
    """All end tokens, each once: those `told` by the JSON files in their order, then the tokenizer's `named` ones.

    A named one behind the vocabulary is left out: the network cannot say it.
    """
    found = []
    for raw in told:
        ids = raw.get("eos_token_id")
        found += ids if isinstance(ids, list) else [] if ids is None else [ids]
        if not all(isinstance(token, int) for token in found):
            raise ModelError(f"eos_token_id must be a token's id or a list of them, not {ids!r}.")
    found += [token for token in named if token is not None and token < vocab_size]
    return tuple(dict.fromkeys(found))


def check_attention(config: ModelConfig, attention: str) -> None:
    """Raise ModelError where the network cannot run with this attention, "full" or "block_causal"."""
    if config.encoder and attention != "full":
        raise ModelError(f"{config.family} is an encoder: every token sees all others, so take full attention.")
