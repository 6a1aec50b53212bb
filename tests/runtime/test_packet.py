"""What ranks share without a group: packets, shares of a window, and the keys and values that a commit carries over."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from lopa_core.decode.window import Window, ask
from lopa_core.model.cache import Cache
from lopa_core.model.family import parse_config
from lopa_core.runtime.packet import FAILED, GRAIN, HEADER, PLAIN, Header, checksum, read, room, write
from lopa_core.runtime.parallel import between, cut, split

from ..helpers.models import dream_config


@pytest.fixture
def window() -> Window:
    """Five branches over six columns; the second one asks nothing, and rows ask for different numbers of columns."""
    rows, wanted = np.array([0, 0, 2, 2, 2, 3, 4, 4]), np.array([1, 4, 0, 2, 5, 3, 0, 1])
    columns, queries = ask(rows, wanted, 5)
    tokens = np.arange(30).reshape(5, 6)
    return Window(tokens, 7, np.array([13, 13, 11, 13, 12]), columns, queries, np.linspace(0, 1, 8, dtype=np.float32), 4, 3)


@pytest.mark.parametrize("ranks", range(1, 7))
@pytest.mark.parametrize("rows", range(10))
def test_every_row_goes_to_one_rank_and_shares_are_even(rows, ranks):
    shares = split(rows, ranks)
    assert len(shares) == ranks
    assert [row for low, high in shares for row in range(low, high)] == list(range(rows))
    sizes = [high - low for low, high in shares]
    assert max(sizes) - min(sizes) <= 1 and sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("ranks", range(1, 8))
def test_the_parts_of_a_window_ask_what_the_whole_asks(window, ranks):
    def asked(part: Window, first: int) -> list[tuple[int, int, float]]:
        rows, places = np.divmod(part.queries, part.columns.shape[1])
        return list(zip((rows + first).tolist(), part.columns[rows, places].tolist(), part.uniforms.tolist()))

    shares = split(len(window.tokens), ranks)
    parts = [cut(window, low, high) for low, high in shares]
    assert np.array_equal(np.concatenate([part.tokens for part in parts]), window.tokens)
    assert np.concatenate([part.ends for part in parts]).tolist() == window.ends.tolist()
    assert [query for part, (low, _) in zip(parts, shares) for query in asked(part, low)] == asked(window, 0)
    assert [len(part.queries) for part in parts] == [len(range(8)[between(window, low, high)]) for low, high in shares]


def test_a_window_without_draws_is_cut_into_such(window):
    assert cut(replace(window, uniforms=None), 2, 4).uniforms is None


@pytest.mark.parametrize("width", (PLAIN, PLAIN + 2))
@pytest.mark.parametrize("count", (0, 1, GRAIN, GRAIN + 1, 512))
def test_what_is_written_is_read(count, width):
    header = Header(FAILED, True, 0xFEDCBA98, 0.25, 1.5)
    records = np.random.default_rng(count).random((width, count), dtype=np.float32)
    size = room([0, count, count // 2], width)
    packet = write(header, size)
    packet[HEADER.size : HEADER.size + 4 * width * count] = records.reshape(-1).view(np.uint8)
    told, got = read(packet, count, width)
    assert told == header and np.array_equal(got, records)
    assert read(write(Header(), size), 0)[0] == Header()


def test_the_room_is_small_and_the_same_for_about_the_same():
    assert room([0, 0]) == HEADER.size
    assert room([1]) == room([GRAIN]) < room([GRAIN + 1])
    assert room([256, 256]) < 4096  # eight branches of 64 masks on two ranks


@pytest.mark.parametrize("name", ("tokens", "ends", "columns", "queries", "uniforms"))
def test_one_number_changes_the_checksum(window, name):
    told = checksum(window)
    values = getattr(window, name).copy()
    assert checksum(replace(window, **{name: values})) == told
    values.flat[-1] += 1
    assert checksum(replace(window, **{name: values})) != told


@pytest.mark.parametrize("change", ({"start": 8}, {"prompt": 5}, {"block_size": 4}, {"kept": 9}, {"uniforms": None}))
def test_a_place_changes_the_checksum(window, change):
    assert checksum(replace(window, **change)) != checksum(window)


def test_a_span_of_one_cache_fills_another():
    config = parse_config(dream_config())
    caches = [Cache(config, rows=rows, length=12, device=torch.device("cpu"), dtype=torch.float32) for rows in (3, 4)]
    for cache in caches:
        cache.keys.normal_()
        cache.values.normal_()
    before = caches[1].keys.clone()
    span = caches[0].span(2, 5, 9)
    assert span.shape == (2, config.layers, config.kv_heads, 4, config.head_dim) and span.is_contiguous()
    caches[1].fill(span, 5, 9, rows=2)
    for row in range(2):
        assert torch.equal(caches[1].keys[:, row, :, 5:9], caches[0].keys[:, 2, :, 5:9])
        assert torch.equal(caches[1].values[:, row, :, 5:9], caches[0].values[:, 2, :, 5:9])
    assert torch.equal(caches[1].keys[:, 2:], before[:, 2:])  # rows not in use, and slots outside the span
    assert torch.equal(caches[1].keys[..., :5, :], before[..., :5, :]) and torch.equal(caches[1].keys[..., 9:, :], before[..., 9:, :])
