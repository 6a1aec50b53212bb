"""Reordered weights give the products of the plain ones, and leave the network's parameters alone."""

import pytest
import torch
from torch import nn

from lopa_core.model.prepack import SIZES, Prepacked, prepack, prepacked

from ..helpers.models import dream_config, llada_config, qwen3_config, random_network

TOKENS = torch.randint(0, 59, (2, 21), generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("raw", [dream_config(), llada_config(), qwen3_config(), dream_config(tie_word_embeddings=True)])
def test_a_prepacked_network_computes_what_the_plain_one_does(raw):
    exact, plain, packed = (random_network(raw, dtype=dtype) for dtype in (torch.float64, torch.float32, torch.float32))
    before = {name: value.data_ptr() for name, value in packed.named_parameters()}
    prepack(packed)
    assert any(isinstance(part, Prepacked) for part in packed.modules())
    assert not any(type(part) is nn.Linear for part in packed.modules())
    assert {name: value.data_ptr() for name, value in packed.named_parameters()} == before
    assert packed.state_dict().keys() == plain.state_dict().keys()
    with torch.inference_mode():
        expected, own, other = (network.head(network(TOKENS)).double() for network in (exact, plain, packed))
    assert (other - expected).abs().max() <= 2 * (own - expected).abs().max() + 1e-6


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_a_network_in_any_dtype_runs_on_any_cpu(dtype):
    """Reordering bf16 takes instructions that many have not; such a network stays as it is."""
    network = random_network(dream_config(), dtype=dtype)
    prepack(network)
    with torch.inference_mode():
        assert network.head(network(TOKENS)).isfinite().all()


def test_any_number_of_rows_can_be_multiplied():
    linear = nn.Linear(48, 80).requires_grad_(False)
    packed = Prepacked(linear)
    with torch.inference_mode():
        for rows in (0, 1, 7, 40, 96, 97, 333):
            x = torch.randn(rows, 48)
            torch.testing.assert_close(packed(x), linear(x))
            torch.testing.assert_close(packed(x[None]), linear(x[None]))


def test_products_of_few_sizes_are_asked_of_onednn(monkeypatch):
    sizes, product = set(), torch.ops.mkldnn._linear_pointwise

    def counted(x, *arguments):
        sizes.add(len(x))
        return product(x, *arguments)

    packed = Prepacked(nn.Linear(48, 80).requires_grad_(False))
    monkeypatch.setattr(torch.ops.mkldnn, "_linear_pointwise", counted)
    with torch.inference_mode():
        for rows in range(1, 400):
            packed(torch.randn(rows, 48))
    assert sizes == set(SIZES)


def test_a_processor_without_products_of_bf16_keeps_the_plain_ones(monkeypatch):
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)
    network = random_network(dream_config(), dtype=torch.bfloat16)
    prepack(network)
    assert not prepacked(network)
    assert torch.isfinite(network.head(network(TOKENS))).all()


def test_gradients_flow_as_ever():
    x = torch.randn(3, 48, requires_grad=True)
    Prepacked(nn.Linear(48, 80))(x).sum().backward()
    assert x.grad.abs().sum() > 0


def test_a_network_in_double_precision_stays_as_it_is():
    network = random_network(dream_config())
    prepack(network)
    assert not any(isinstance(part, Prepacked) for part in network.modules())
