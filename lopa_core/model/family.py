"""What differs between the families of diffusion language models: facts read from a checkpoint's files, never guessed.

The family is told by config.json's model_type: which body it has (bodies.py), whether its row i predicts slot i or,
as in models that were initialised from an autoregressive one without moving its rows, slot i + 1, and whether it was
trained with full or with block-causal attention. Everything else is a number in `ModelConfig`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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
    and `block_size` with which blocks. `end_ids`: all tokens that end an answer, `eos_id` the first of them.
    `rope_fp32`: queries and keys are rotated in fp32 whatever the dtype. `assumed`: which of `shifted`, `attention` and
    `block_size` are customs of the family that the checkpoint's files do not confirm. `notices`: sentences on what in
    those files was left aside or taken otherwise than it says.
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
    rope_fp32: bool = False
    assumed: tuple[str, ...] = ()
    notices: tuple[str, ...] = field(default=(), compare=False)

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
    """body: reads the shape. shifted, attention: as in ModelConfig. block_size: where config.json names none.
    template_arguments: what the chat template is called with, as in training. assumed: as in ModelConfig."""

    body: Callable[[Mapping[str, Any]], dict[str, Any]]
    shifted: bool = False
    attention: str = "full"
    block_size: int | None = None
    template_arguments: Mapping[str, object] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()


_PLAIN = ("shifted", "attention")  # a model type of autoregressive models tells nothing of what it was trained to
_A2D = ("attention",)  # the same type for full attention (mdlm) and for blocks (bd3lm)
FAMILIES = {
    "dream": Family(bodies.qwen2, shifted=True),
    "llada": Family(bodies.llada),
    "sdar": Family(bodies.qwen3, attention="block_causal", block_size=4),
    "a2d-qwen3": Family(bodies.qwen3, template_arguments={"enable_thinking": False}, assumed=_A2D),
    "a2d-qwen2": Family(bodies.qwen2, assumed=_A2D),
    "a2d-llama": Family(bodies.llama, assumed=_A2D),
    "qwen3": Family(bodies.qwen3, assumed=_PLAIN),
    "qwen2": Family(bodies.qwen2, assumed=_PLAIN),
    "llama": Family(bodies.llama, assumed=_PLAIN),
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
GENERATION = "generation_config.json"


def read_config(folder: str | Path, *, shifted: bool | None = None) -> ModelConfig:
    """Read a checkpoint folder's config.json, generation_config.json and special tokens; only the first has to be there.

    shifted: the alignment of rows, where it is known better than by the family. Raises ModelError if something is missing,
    not JSON, contradictory or of a family that is not supported.
    """
    folder = Path(folder)
    raw = read_object(folder / "config.json", missing=f"{folder} holds no config.json: give the folder of a diffusion language model.")
    generation = folder / GENERATION
    told = read_object(generation, missing=f"{generation} is gone.") if generation.exists() else {}
    return parse_config(raw, special_tokens(folder), told, shifted=shifted)


def parse_config(
    raw: Mapping[str, Any], tokens: SpecialTokens = NO_TOKENS, generation: Mapping[str, Any] | None = None, *, shifted: bool | None = None
) -> ModelConfig:
    """Turn a checkpoint's config.json into a `ModelConfig`. tokens: of its tokenizer; generation: generation_config.json."""
    name = str(raw.get("model_type", "")).lower()
    family = find_family(name, raw)
    refuse_quantised(raw)
    try:
        shape = family.body(raw)
    except KeyError as error:
        raise ModelError(f"config.json lacks {error.args[0]!r}, which a {name} checkpoint needs.") from None
    further, notices = foreign_ends(read_ends(GENERATION, generation or {}), shape["vocab_size"])
    named = [token for token in tokens.ends if token < shape["vocab_size"]]  # what lies behind it the network cannot say
    ends = tuple(dict.fromkeys([*read_ends("config.json", raw), *further, *named]))
    facts, assumed = customs(raw, family, shifted)
    return ModelConfig(
        family=name, mask_id=mask_token(raw, tokens), end_ids=ends, eos_id=ends[0] if ends else None, assumed=assumed, notices=notices,
        **facts, **shape,
    )  # fmt: skip


def customs(raw: Mapping[str, Any], family: Family, shifted: bool | None) -> tuple[dict[str, Any], tuple[str, ...]]:
    """How the family is decoded (shifted, attention, block_size), and which of these the checkpoint does not confirm."""
    facts = {"shifted": family.shifted if shifted is None else shifted, "attention": family.attention, "block_size": None}
    assumed = [fact for fact in family.assumed if fact != "shifted" or shifted is None]
    if family.attention == "block_causal":
        told = raw.get("block_size")
        facts["block_size"] = family.block_size if told is None else told
        assumed += ["block_size"] if told is None else []
    return facts, tuple(assumed)


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


def read_ends(name: str, raw: Mapping[str, Any]) -> list[int]:
    """The eos_token_id of a JSON file of this name: an id, a list of them, or nothing."""
    told = raw.get("eos_token_id")
    ids = told if isinstance(told, list) else [] if told is None else [told]
    if not all(isinstance(token, int) and not isinstance(token, bool) for token in ids):
        raise ModelError(f"{name}: eos_token_id must be a token's id or a list of them, not {told!r}.")
    return ids


def foreign_ends(ids: list[int], vocab_size: int) -> tuple[list[int], tuple[str, ...]]:
    """The end tokens of generation_config.json; none, and a notice, where one is no token of this vocabulary: then the file
    is that of another model, whose other ids would end this one's texts anywhere."""
    outside = [token for token in ids if not 0 <= token < vocab_size]
    if not outside:
        return ids, ()
    why = f"{GENERATION} ends a text by token {outside[0]}, which a vocabulary of {vocab_size} does not have"
    return [], (f"{why}: its end tokens are left out.",)


def check_attention(config: ModelConfig, attention: str) -> None:
    """Raise ModelError where the network cannot run with this attention, "full" or "block_causal"."""
    if config.encoder and attention != "full":
        raise ModelError(f"{config.family} is an encoder: every token sees all others, so take full attention.")
