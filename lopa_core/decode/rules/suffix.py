"""What full attention sees of the blocks that are not open yet: Fast-dLLM's two caches."""

from __future__ import annotations

from .card import Card

SUFFIXES = ("none", "masks", "cached")
CARDS = (
    Card(
        name="masks", kind="suffix", title="Fast-dLLM prefix cache", source="arXiv 2505.22618",
        formula="every forward reads on to the canvas' end, masks of unopened blocks included", rows="none",
        tokens="all slots of unopened blocks, in every row",
        inferred="keys and values of prompt and finished blocks are written once; Fast-dLLM computes them anew after every block",
    ),
    Card(
        name="cached", kind="suffix", title="Fast-dLLM dual cache", source="arXiv 2505.22618",
        formula="keys and values of unopened blocks are kept, and computed anew in the round in which a block is written to the cache",
        tokens="all slots of unopened blocks, once per block", inferred="as above; a refresh takes the winner's",
    ),
)  # fmt: skip
