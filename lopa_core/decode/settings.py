"""Every choice of a decoder, frozen and checked on construction. Names are the papers'.

A decoder is a block schedule (tau_add, tau_act) x a selection rule x branching (lookahead).
The names in decoders.DECODERS are values of these settings; nothing else differs between them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .combine import check_combination
from .decoders import ALIASES, DECODERS
from .parameters import SettingsError, check, choice, count, number, share, switch
from .reach import REACHES
from .rules.leap import LINKS
from .rules.registry import BRANCHINGS, NONE, REMASKINGS, SELECTIONS, TERMINATORS
from .rules.suffix import SUFFIXES

if TYPE_CHECKING:
    from ..model.family import ModelConfig

CONFIDENCES = ("probability", "margin", "neg_entropy")
ATTENTIONS = ("full", "block_causal")
LARGEST_LOOKAHEAD = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class DecodeSettings:
    """Settings of one decode. Lengths in tokens; tau_*, fractions and weights in 0..1. Raises SettingsError.

    The default goes block by block, which suits every masked diffusion model; presets of models trained for it (D2F)
    pipeline their blocks.

    Where ours and the official code differ, the default is ours and `reference()` gives the official choice:
    - stop_at_eos: stop once an end-of-text is written and nothing before it is masked. The official code
      decodes open blocks to the last mask, which costs rounds nobody sees.
    - stop_at_end_of_turn: a chat model ends its answer by an end-of-turn token; the official code knows the end-of-text only.
    - allow_mask_token: the official code may predict the mask id, which commits nothing and can loop for ever.
    - refresh_boundary: predict the first slot behind the cache anew in every round. The official code keeps the
      prediction made when the cache last grew, blind to everything written since (shifted models, full attention); with
      selection klass or credit, which follow a slot's logits from round to round, it is predicted anew all the same.
    - duplicate_anchor: where no mask is left to look ahead at, the official code runs the anchor twice.
    - round_down: the official code drops the slots that do not fill a whole block; we refuse such a length.
    """

    max_new_tokens: int = count(96, 1, 4096, "slots to generate")
    block_size: int = count(16, 1, 4096, "slots per block")
    # below 1 (D2F: 0.1) blocks are pipelined
    tau_add: float = share(1.0, "filled share of the last block that opens one more")
    tau_act: float = share(0.95, "filled share of a block that makes the next one fully active")
    tau_conf: float = share(0.9, "fill masks with a higher probability (Eq. 1)")
    selection: str = choice("threshold", tuple(SELECTIONS), "which masks a round fills")
    branching: str = choice("lookahead", tuple(BRANCHINGS), "how branches are made and which one wins")
    lookahead: int = count(4, 0, LARGEST_LOOKAHEAD, "k, lookahead branches beside the anchor")
    confidence_floor: float = share(0.0, "smallest probability of a lookahead token; 0 is the paper's LoPA")
    anchor_floor: float = share(0.0, "smallest probability that the anchor must still give a lookahead token; 0 does not ask, as the paper")
    reach: str = choice("window", REACHES, "what a lookahead branch computes: its window, its token's block, or the masks of that (ours)")
    confidence: str = choice("neg_entropy", CONFIDENCES, "what ranks masks and branches")
    score_tail_fraction: float = share(1.0, "share of least confident masks that a branch score averages")
    score_creation_weight: float = share(0.0, "weight of the tried token's own confidence in a branch score")
    score_window: int = count(0, 0, 4096, "a branch score is that of its least confident stretch of so many masks; 0: of all")
    attention: str = choice("full", ATTENTIONS, "what a window token sees of later blocks")
    suffix: str = choice("none", SUFFIXES, "what full attention sees of blocks not opened yet: nothing, their masks, or those' cache")
    temperature: float = number(0.0, 0.0, 5.0, "0 takes the most probable token")
    seed: int = count(0, 0, 2**63 - 1, "of the sampling")
    eos_token_id: int | None = count(None, 0, 2**31, "end-of-text token instead of the checkpoint's own")
    stop_at_end_of_turn: bool = switch(True, "take a chat model's end-of-turn for an end of the text as well")
    stop_at_eos: bool = switch(True, "stop once the text has ended, and cut there")
    allow_mask_token: bool = switch(False, "let the mask id be predicted, as the official code does")
    refresh_boundary: bool = switch(True, "predict the first slot behind the cache anew each round")
    duplicate_anchor: bool = switch(False, "run the anchor twice where nothing is left to look ahead at, as the official code does")
    round_down: bool = switch(False, "drop slots that fill no whole block, as the official code does")
    # None: one per slot and block, which is enough for every model
    max_rounds: int | None = count(None, 1, 100_000, "stop after so many rounds")
    factor: float = number(1.0, 0.0, 1000.0, "selection factor: (n + 1)(1 - p) of the n-th mask stays below it")
    entropy_bound: float = number(0.1, 0.0, 1000.0, "selection entropy_bound: nats that masks filled together may add up to")
    local_radius: int = count(4, 0, 4096, "selection local_leap: slots around a sure mask in which local_tau is enough")
    local_tau: float = share(0.75, "selection local_leap: the lower threshold near a sure mask")
    klass_tau: float = share(0.6, "selection klass: fill steady masks with a higher probability")
    klass_kl: float = number(0.01, 0.0, 1000.0, "selection klass: nats by which a steady mask's distribution moves at most")
    klass_steps: int = count(2, 0, 100, "selection klass: rounds in a row that make a mask steady")
    leap_eta: float = share(0.2, "selection leap: probability from which a prediction is a candidate of the next round's future")
    leap_tau: float = share(0.7, "selection leap: fill masks of at least this probability if the future agrees")
    leap_links: str = choice("star", LINKS, "selection leap: whether candidates see themselves only, or each other")
    adaptive_sure: float = share(0.6, "branching adaptive: no anchor where a lookahead token has this probability")
    adaptive_gap: float = share(1.0, "branching adaptive: how much less probable than the best a lookahead token may be")
    pivot_ratio: float = share(0.1, "branching pivot: share of the best token's probability that others need to be tried")
    pivot_mass: float = share(0.5, "branching pivot: probability that the tokens tried have together")
    pivot_weight: float = number(0.3, 0.0, 100.0, "branching pivot: weight of a token's own probability in the score")
    remask: str = choice(NONE, (NONE, *REMASKINGS), "what takes written tokens of the active blocks back")
    wino_tau: float = share(0.6, "selection wino: fill masks with a higher probability")
    wino_keep: float = share(0.9, "remask wino: probability in its own absence below which a token is taken back")
    wino_refuted: float = share(0.1, "remask wino: probability below which more are taken back than the round has filled; 0: the paper's")
    saber_least: int = count(2, 1, 4096, "selection and remask saber: masks a round fills at least; half as many are taken back")
    credit_alpha: float = number(0.0, 0.0, 100.0, "weight of the credit of repeated predictions (CreditDecoding); 0: none")
    credit_beta: float = share(0.8, "share of credit that is left after a round")
    credit_gamma: float = number(0.2, 0.0, 10.0, "a prediction earns its probability to the power of this")
    terminator: str = choice(NONE, (NONE, *TERMINATORS), "what fills all masks of the open blocks at once")
    prophet_early: float = number(7.5, 0.0, 1000.0, "terminator prophet: mean logit gap asked in the first third of the text")
    prophet_middle: float = number(5.0, 0.0, 1000.0, "terminator prophet: mean logit gap asked in the second third")
    prophet_late: float = number(2.5, 0.0, 1000.0, "terminator prophet: mean logit gap asked in the last third")

    def __post_init__(self) -> None:
        check(self)
        if 0 < self.temperature < 0.01:
            raise SettingsError(f"temperature must be 0, which takes the best token, or at least 0.01, not {self.temperature!r}.")
        check_combination(self)
        if self.block_size > self.max_new_tokens:
            raise SettingsError(f"A block of {self.block_size} is longer than the {self.max_new_tokens} new tokens asked for.")
        if self.max_new_tokens % self.block_size and not self.round_down:
            lower = self.slots
            raise SettingsError(
                f"{self.max_new_tokens} new tokens are not a whole number of blocks of {self.block_size}: "
                f"take {lower} or {lower + self.block_size}."
            )

    @property
    def slots(self) -> int:
        """Slots of the canvas behind the prompt: whole blocks."""
        return self.max_new_tokens // self.block_size * self.block_size

    @property
    def round_limit(self) -> int:
        """Rounds after which decoding stops whatever happens."""
        return self.max_rounds or self.slots + self.slots // self.block_size + 1

    def ends(self, config: ModelConfig) -> frozenset[int]:
        """Tokens that end the text: these settings' own, else the checkpoint's end-of-text, and its end-of-turn."""
        if self.eos_token_id is not None:
            return frozenset([self.eos_token_id])
        every = config.end_ids if self.stop_at_end_of_turn else (config.eos_id,)
        return frozenset(token for token in every if token is not None)

    def reference(self) -> DecodeSettings:
        """The same decoder with the official code's choices; only the round limit stays."""
        branches = {"confidence_floor": 0.0, "anchor_floor": 0.0, "reach": "window", "duplicate_anchor": True}
        official = {"stop_at_eos": False, "stop_at_end_of_turn": False, "allow_mask_token": True, "refresh_boundary": False}
        return replace(self, **branches, **official, round_down=True)

    def decoder(self, name: str) -> DecodeSettings:
        """The same settings as one of DECODERS."""
        if name not in DECODERS and name not in ALIASES:
            raise SettingsError(f"There is no decoder {name!r}: take {', '.join(DECODERS)}.")
        return replace(self, **DECODERS[ALIASES.get(name, name)])
