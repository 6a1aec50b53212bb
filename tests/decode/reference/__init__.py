"""The slow obvious decoder: every rule in plain Python over whole distributions, everything computed anew in every round.

loop.py is the loop and its block schedule; case.py its state; forward.py what the network says of a branch; selections.py and
branchings.py the rules; comparison.py holds the fast loop to it. No rule of lopa_core is imported: each is written a second
time, from its paper's formula. A new decoder, or a fast path that changes what is computed, enters here with it.
"""

from .comparison import compare
from .loop import decode_slowly

__all__ = ["compare", "decode_slowly"]
