"""The training loop: one network, two optimizers, a warm start, then the mixture. Resumable to the bit of its data.

Hidden matrices are trained by Muon, the rest by AdamW; weights are averaged (EMA) and it is the average that is
exported. Speed on a CPU comes from bf16 autocast, one compiled layer and two static shapes.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors import safe_open
from tokenizers import Tokenizer
from torch import Tensor, nn

from ..io.writing import make_folder, write_tensors
from ..model.network import Transformer
from .data import Stream
from .mixture import DIFFUSION, WARM_START, Question, ask


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """Everything that decides the result. Steps are optimizer steps of about `tokens` tokens."""

    steps: int = 2300
    warm_steps: int = 450
    tokens: int = 10_000
    muon_lr: float = 0.006
    adamw_lr: float = 1.2e-3
    decay_share: float = 0.6  # of all steps, at the end: the rate falls linearly to FINAL_RATE
    ema: float = 0.998
    block_sizes: tuple[int, ...] = (16, 16, 32)
    seed: int = 0


FINAL_RATE = 0.02
RAMP = 100  # steps of linear warm-up


class Trainer:
    """Holds what a checkpoint holds: weights, their average, optimizer states and the step."""

    def __init__(self, network: Transformer, tokenizer: Tokenizer, recipe: Recipe, *, compile: bool, device: torch.device) -> None:
        self.network, self.recipe, self.device, self.step = network.to(device).train(), recipe, device, 0
        self.mask_id = network.config.mask_id
        self.equals = tokenizer.token_to_id("Ġ=")
        self.stream = Stream(tokenizer, tokens=recipe.tokens, seed=recipe.seed)
        self.average = {name: value.detach().clone() for name, value in network.named_parameters()}
        self.optimizers = optimizers(network, recipe)
        if compile:
            for layer in network.layers:
                layer.compile(dynamic=False)

    def advance(self) -> dict[str, float]:
        """One optimizer step. Returns its loss, result accuracy, token count and seconds."""
        began = time.perf_counter()
        batch = self.stream.batch(self.step)
        shares = WARM_START if self.step < self.recipe.warm_steps else DIFFUSION
        generator = torch.Generator().manual_seed(self.recipe.seed * 7_919 + self.step)
        question = ask(batch, shares, self.recipe.block_sizes, self.mask_id, generator)
        rate = learning_rate(self.step, self.recipe)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["base_lr"] * rate
        loss, right = self.loss(question)
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        self.update_average()
        self.step += 1
        return {"loss": loss.item(), "results": right, "tokens": batch.tokens.numel(), "seconds": time.perf_counter() - began}

    def loss(self, question: Question) -> tuple[Tensor, float]:
        """Weighted cross entropy, and the share of right results right behind a visible `=`."""
        inputs, mask = question.inputs.to(self.device), question.mask.to(self.device)
        with torch.autocast(self.device.type, dtype=torch.bfloat16):
            hidden = self.network(inputs, mask=mask)
            logits = self.network.head(hidden.flatten(0, 1)[question.rows.to(self.device)])
        targets, weights = question.targets.to(self.device), question.weights.to(self.device)
        losses = F.cross_entropy(logits.float(), targets, reduction="none")
        after_equals = inputs.flatten()[question.rows] == self.equals
        right = (logits.argmax(-1) == targets)[after_equals].float().mean().item()
        return (losses * weights).sum() / weights.sum(), right

    @torch.no_grad()
    def update_average(self) -> None:
        keep = min(self.recipe.ema, (self.step + 1) / (self.step + 10))
        for name, value in self.network.named_parameters():
            self.average[name].lerp_(value, 1 - keep)

    def save(self, folder: Path) -> None:
        """Write a checkpoint; the old one stays whole until the new one is complete. Raises WriteError."""
        make_folder(folder)
        tensors = {f"weights/{name}": value.detach() for name, value in self.network.named_parameters()}
        tensors |= {f"average/{name}": value for name, value in self.average.items()}
        for number, optimizer in enumerate(self.optimizers):
            for index, state in optimizer.state_dict()["state"].items():
                tensors |= {f"optimizer/{number}/{index}/{key}": torch.as_tensor(value) for key, value in state.items()}
        note = {"step": str(self.step), "recipe": json.dumps(asdict(self.recipe))}
        write_tensors(folder / "training.safetensors", {k: v.contiguous() for k, v in tensors.items()}, note)

    def resume(self, folder: Path) -> None:
        """Continue from `save` at its step. The recipe may have changed in its rates and numbers of steps."""
        with safe_open(folder / "training.safetensors", framework="pt") as file:
            self.step = int(file.metadata()["step"])
            tensors = {key: file.get_tensor(key) for key in file.keys()}
        with torch.no_grad():
            for name, value in self.network.named_parameters():
                value.copy_(tensors[f"weights/{name}"])
                self.average[name].copy_(tensors[f"average/{name}"])
        for number, optimizer in enumerate(self.optimizers):
            state = optimizer.state_dict()
            state["state"] = {}
            prefix = f"optimizer/{number}/"
            for key in (key for key in tensors if key.startswith(prefix)):
                index, name = key.removeprefix(prefix).split("/")
                state["state"].setdefault(int(index), {})[name] = tensors[key]
            optimizer.load_state_dict(state)


def optimizers(network: Transformer, recipe: Recipe) -> list[torch.optim.Optimizer]:
    """Muon for the layers' matrices, AdamW for embeddings, norms and biases."""
    matrices = [p for p in network.layers.parameters() if p.ndim == 2]
    chosen = {id(p) for p in matrices}
    others = [p for p in network.parameters() if id(p) not in chosen]
    pair = [
        torch.optim.Muon(matrices, lr=recipe.muon_lr, weight_decay=0.01, momentum=0.95),
        torch.optim.AdamW(others, lr=recipe.adamw_lr, betas=(0.9, 0.98), weight_decay=0.0),
    ]
    for optimizer in pair:
        for group in optimizer.param_groups:
            group["base_lr"] = group["lr"]
    return pair


def learning_rate(step: int, recipe: Recipe) -> float:
    """Share of the base rate: a short ramp, a plateau, a linear fall over the last `decay_share` of all steps."""
    left = (recipe.steps - step) / (recipe.steps * recipe.decay_share)
    return min(1.0, (step + 1) / RAMP, max(FINAL_RATE, left))
