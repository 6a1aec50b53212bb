"""One bidirectional transformer for all decoder-shaped checkpoints: bodies of Qwen2, Qwen3 and Llama.

Tokens in, hidden rows or logits out. It knows nothing of masks-as-decisions, blocks or branches: what may be
seen is an attention mask, what is remembered is a cache that the caller owns.

Shapes: B rows (branches), W window tokens, S = tokens that can be seen (cached prefix + window),
H query heads, K key/value heads, D head size, G = H / K queries that share a key.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .cache import Cache
from .family import ModelConfig


class Transformer(nn.Module):
    """Pre-norm transformer with rotary positions, grouped queries and SwiGLU; no causal mask of its own."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.norm = RMSNorm(config.hidden_size, config.norm_eps)
        self.ropes: dict[tuple[torch.device, torch.dtype], tuple[Tensor, Tensor]] = {}
        self.head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        if config.tied:
            self.head.weight = self.embed.weight

    @property
    def device(self) -> torch.device:
        return self.embed.weight.device

    @property
    def dtype(self) -> torch.dtype:
        return self.embed.weight.dtype

    @property
    def kv_heads(self) -> int:
        """Key/value heads on this device: all of them, or its share where layers are spread over several."""
        return self.layers[0].attention.kv_heads

    def new_cache(self, rows: int, length: int) -> Cache:
        """Room for the keys and values of `rows` branches of `length` tokens, on the network's device."""
        return Cache(self.config, rows=rows, length=length, device=self.device, dtype=self.dtype, kv_heads=self.kv_heads)

    def forward(
        self, tokens: Tensor, *, start: int = 0, mask: Tensor | None = None, cache: Cache | None = None, columns: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """Hidden rows [B, W, hidden] of `tokens` [B, W] at positions start..start+W, after the final norm.

        With a cache the window's keys and values are written in place and the prefix before `start` is seen too.
        mask: bool, True = may be seen, broadcastable to [B, 1, W, S]; None = everything is seen.
        columns: [B, M] the columns that are asked for, if not all: the result is [B, M, hidden], and the last
        layer, whose other rows nobody reads, computes keys and values only for them.
        positions: [B, W] where columns stand if not one behind the other, each below max_positions.
        """
        width = tokens.shape[1]
        if positions is None and start + width > self.config.max_positions:
            raise ValueError(f"positions up to {start + width} exceed this model's {self.config.max_positions}")
        x = self.embed(tokens)
        rope = self.rope(slice(start, start + width) if positions is None else positions, x.device, x.dtype)
        bias = attention_bias(mask, self.config, x.dtype)
        stores = [cache and cache.layer(index, tokens.shape[0], start) for index in range(len(self.layers))]
        for layer, store in zip(self.layers[:-1], stores):
            x = layer(x, rope, bias, store)
        if columns is not None and mask is not None:
            bias = attention_bias(pick_rows(mask, columns), self.config, x.dtype)
        return self.norm(self.layers[-1](x, rope, bias, stores[-1], columns))

    def rope(self, positions: slice | Tensor, device: torch.device, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """cos and sin [W, D], or [B, 1, W, D] of positions [B, W], from a table built once per device and dtype.

        In fp32 at least where the model was trained to be rotated so.
        """
        if self.config.rope_fp32:
            dtype = torch.promote_types(dtype, torch.float32)
        if (device, dtype) not in self.ropes:
            with torch.inference_mode(False):  # kept beyond this forward: training cannot use an inference tensor
                self.ropes[device, dtype] = rope_table(self.config, device, dtype)
        cos, sin = self.ropes[device, dtype]
        if isinstance(positions, slice):
            return cos[positions], sin[positions]
        return cos[positions][:, None], sin[positions][:, None]


class RMSNorm(nn.Module):
    """x / rms(x) * weight over the last dimension. torch's own takes seven passes over x on a CPU, this one three."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(size)), eps

    def forward(self, x: Tensor) -> Tensor:
        if x.device.type != "cpu" or x.dtype not in (torch.float32, torch.float64):
            return F.rms_norm(x, self.weight.shape, self.weight, self.eps)
        scale = torch.rsqrt(torch.linalg.vecdot(x, x) / x.shape[-1] + self.eps)
        return x * scale[..., None] * self.weight


class Layer(nn.Module):
    """Attention and a gated feed-forward, each on the normed input and added to the residual."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(config.hidden_size, config.norm_eps)
        self.attention = Attention(config)
        self.ffn_norm = RMSNorm(config.hidden_size, config.norm_eps)
        self.gate_up = nn.Linear(config.hidden_size, 2 * config.ffn_size, bias=False)
        self.down = nn.Linear(config.ffn_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor, rope: tuple[Tensor, Tensor], bias: Tensor | None, store=None, columns: Tensor | None = None) -> Tensor:
        attended = self.attention(self.attention_norm(x), rope, bias, store, columns)
        if columns is not None:
            x = x.gather(1, columns[:, :, None].expand(-1, -1, x.shape[-1]))
        x = x + attended
        gate, up = self.gate_up(self.ffn_norm(x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)


class Attention(nn.Module):
    """Grouped-query attention. The G queries of a key/value head are laid side by side as G * W query rows,
    so keys are never repeated and every kernel behind SDPA can be used. Of a Qwen3 body, queries and keys are normed
    per head, before they are rotated."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = config.heads, config.kv_heads, config.head_dim
        width = config.heads * config.head_dim
        self.qkv = nn.Linear(config.hidden_size, width + 2 * config.kv_heads * config.head_dim, bias=config.qkv_bias)
        self.out = nn.Linear(width, config.hidden_size, bias=False)
        self.q_norm = RMSNorm(config.head_dim, config.norm_eps) if config.qk_norm else None
        self.k_norm = RMSNorm(config.head_dim, config.norm_eps) if config.qk_norm else None

    def forward(self, x: Tensor, rope: tuple[Tensor, Tensor], bias: Tensor | None, store=None, columns: Tensor | None = None) -> Tensor:
        rows, width, _ = x.shape
        heads = self.qkv(x).view(rows, width, -1, self.head_dim).transpose(1, 2)
        rotated = rotate(self.normed(heads[:, : self.heads + self.kv_heads]), *rope)
        q, k = rotated.split((self.heads, self.kv_heads), dim=1)
        v = heads[:, self.heads + self.kv_heads :]
        if store is not None:
            k, v = store(k, v)
        if columns is not None:
            q, width = q.gather(2, columns[:, None, :, None].expand(-1, self.heads, -1, self.head_dim)), columns.shape[1]
        groups = self.heads // self.kv_heads
        q = q.reshape(rows, self.kv_heads, groups * width, self.head_dim)
        seen = attend(q, k, v, bias, self.training)
        seen = seen.view(rows, self.heads, width, self.head_dim).transpose(1, 2)
        return self.out(seen.reshape(rows, width, -1))

    def normed(self, heads: Tensor) -> Tensor:
        """Query and key heads [B, H + K, W, D], each under its own norm if the body has them."""
        if self.q_norm is None:
            return heads
        return torch.cat((self.q_norm(heads[:, : self.heads]), self.k_norm(heads[:, self.heads :])), dim=1)


def attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, training: bool) -> Tensor:
    """softmax(q k' / sqrt(D) + bias) v. SDPA's backward takes a third of a training step on a CPU, so training
    there spells the softmax out."""
    if training and q.device.type == "cpu":
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        return (scores if bias is None else scores + bias).softmax(-1) @ v
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)


def pick_rows(mask: Tensor, columns: Tensor) -> Tensor:
    """The rows `columns` [B, M] of a mask [B or 1, 1, W or 1, S]."""
    if mask.shape[2] == 1:
        return mask
    wide = mask.expand(columns.shape[0], -1, -1, -1)
    return wide.gather(2, columns[:, None, :, None].expand(-1, -1, -1, mask.shape[3]))


def attention_bias(mask: Tensor | None, config: ModelConfig, dtype: torch.dtype) -> Tensor | None:
    """A bool mask [B or 1, 1, W, S] as an additive one, its W rows repeated for the G queries of a key:
    [.., G * W, S]."""
    if mask is None:
        return None
    bias = torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(~mask, float("-inf"))
    return bias if mask.shape[2] == 1 else bias.repeat(1, 1, config.heads // config.kv_heads, 1)


def embedding(vocabulary: int, size: int) -> nn.Embedding:
    """On the meta device without the usual first values: to draw them there, torch would load 80 MB more of itself, in 1.5 s."""
    if torch.empty(0).is_meta:
        return nn.Embedding.from_pretrained(torch.empty(vocabulary, size), freeze=False)
    return nn.Embedding(vocabulary, size)


def rope_table(config: ModelConfig, device: torch.device, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """cos and sin [max_positions, D] of the half-rotation convention, computed in fp32, in the operations and their order
    of the libraries that trained the models: at far positions a last bit of a frequency is an angle."""
    pairs = torch.arange(0, config.head_dim, 2, dtype=torch.float32, device=device) / config.head_dim
    angles = torch.outer(torch.arange(config.max_positions, dtype=torch.float32, device=device), 1.0 / config.rope_theta**pairs)
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos().to(dtype), angles.sin().to(dtype)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding of x [B, heads, W, D]: the first half of a head is paired with the second. In the wider dtype of the
    two, the result in x's."""
    half = x.shape[-1] // 2
    turned = x * cos
    turned[..., :half].addcmul_(x[..., half:], sin[..., :half], value=-1)
    turned[..., half:].addcmul_(x[..., :half], sin[..., half:])
    return turned.to(x.dtype)
