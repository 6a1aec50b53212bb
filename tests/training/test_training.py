"""The trainer: it learns, stops, resumes as if it had not stopped, and writes a model that loads."""

import subprocess
import sys

import pytest
import torch

from lopa_core.model.checkpoint import load
from lopa_core.model.tokenizer import Tokenizer
from lopa_core.training.data import Stream
from lopa_core.training.train import Recipe, learning_rate
from lopa_core.training.vocabulary import train_tokenizer

TINY = ["--hidden", "128", "--layers", "1", "--ffn", "64", "--tokens", "600", "--threads", "1", "--no-compile", "--warm-steps", "4"]


def train(out, *flags: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "lopa_core.training", "--out", str(out), *TINY, *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=200)


def test_a_resumed_training_ends_where_an_uninterrupted_one_does(tmp_path):
    assert train(tmp_path / "whole", "--steps", "6").returncode == 0
    # the learning rate depends on --steps, so the interrupted run is told the same number and killed by --until
    assert train(tmp_path / "cut", "--steps", "6", "--until", "3").returncode == 0
    assert train(tmp_path / "cut", "--steps", "6").returncode == 2, "a started training needs --resume"
    assert train(tmp_path / "cut", "--steps", "6", "--resume").returncode == 0
    whole, cut = (load(tmp_path / name) for name in ("whole", "cut"))
    for (name, value), (_, other) in zip(whole.named_parameters(), cut.named_parameters()):
        assert torch.equal(value, other), name
    assert Tokenizer(tmp_path / "whole").encode_prompt("Mia has 3 pens.") == Tokenizer(tmp_path / "cut").encode_prompt("Mia has 3 pens.")


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer(1536, 0)


def test_batches_depend_on_seed_and_step_alone(tokenizer):
    first, again = Stream(tokenizer, tokens=2000, seed=3), Stream(tokenizer, tokens=2000, seed=3)
    assert torch.equal(first.batch(5).tokens, again.batch(5).tokens)
    assert not torch.equal(first.batch(5).tokens[:1, :40], first.batch(6).tokens[:1, :40])


def test_sequences_are_whole(tokenizer):
    stream = Stream(tokenizer, tokens=2000, seed=0)
    for step in range(6):
        batch = stream.batch(step)
        assert batch.tokens.shape[1] in stream.lengths
        for row, prompt, end in zip(batch.tokens, batch.prompt, batch.ends):
            assert (row[end - 1 :] == stream.eos).all() and (row[: end - 1] != stream.eos).all()
            assert tokenizer.decode(row[:prompt].tolist()).endswith("\nAnswer:")
            assert "####" in tokenizer.decode(row[prompt:end].tolist())


def test_the_learning_rate_rises_stays_and_falls():
    recipe = Recipe(steps=1000)
    rates = [learning_rate(step, recipe) for step in range(1000)]
    assert rates[0] < rates[50] < rates[99] == 1.0 == rates[399]
    assert rates[399] > rates[700] > rates[999] > 0
