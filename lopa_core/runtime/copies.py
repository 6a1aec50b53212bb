"""A window's superposed copies on the device: tokens, positions and attention of the one longer forward."""

from __future__ import annotations

import torch
from torch import Tensor

from ..decode.window import Window
from ..model.mask import copies_mask


def superposed(window: Window, tokens: Tensor, mask: Tensor | None, causal: bool) -> tuple[Tensor, Tensor, Tensor]:
    """(tokens [B, W + E], positions [B, W + E], mask [B, 1, W + E, S + E]) of a window whose originals are `tokens`, seen by `mask`."""
    copies, device = window.copies, tokens.device
    own, slots, judged, hidden, links, ends = (
        torch.from_numpy(each).to(device) for each in (copies.tokens, copies.slots, copies.judged, copies.hidden, copies.links, window.ends)
    )
    end = window.start + tokens.shape[1]
    places = torch.arange(window.start, end, device=device).expand(len(tokens), -1)
    blocks = (window.prompt, window.block_size) if causal else None
    seen = copies_mask(mask, slots, judged, hidden, links, start=window.start, ends=ends, end=end, blocks=blocks)
    return torch.cat((tokens, own), dim=1), torch.cat((places, slots), dim=1), seen
