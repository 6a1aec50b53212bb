"""The one loop. Confidence decoding is LoPA with no lookahead; vanilla is another selection rule; D2F is the schedule.

    advance the schedule -> one forward over all branches -> score -> the winner's cache and logits
    -> fill -> spawn lookaheads -> next round

Algorithm 1 of LoPA (arXiv 2512.16229) over D2F's pipelined blocks (arXiv 2508.09192). Verification of a round's
branches is the next round's forward, so nothing runs twice.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from functools import partial

import numpy as np

from ..model.family import ModelConfig, check_attention
from .branch import Branch, winner
from .canvas import Canvas
from .fill import pick, useful
from .futures import room
from .past import Past
from .round import NOTHING, Outcome, Round, Scored
from .rules.registry import BRANCHINGS, NONE, REMASKINGS
from .settings import DecodeSettings, SettingsError
from .window import Engine, look


def decode(
    prompt: Sequence[int], engine: Engine, settings: DecodeSettings, forced: Mapping[int, int] | None = None
) -> Generator[Round, None, Outcome]:
    """Decode behind `prompt` (token ids); yields a Round per forward pass and returns the Outcome.

    forced: {round: branch} that wins there whatever the scores say, for asking "what if".
    Raises SettingsError, at the first round, for an empty or over-long prompt or a token outside the vocabulary, and
    at a forced round that has no such branch.
    """
    config = engine.config
    check_prompt(prompt, config, settings)
    anchor = Canvas.start(np.asarray(prompt), settings, config.mask_id, settings.ends(config))
    engine.open(settings.lookahead + 1, len(anchor.tokens) + room(settings, config.shifted), settings)
    branches, boundary, past = [Branch(anchor)], None, Past(len(anchor.tokens), settings)
    branching, picked = BRANCHINGS[settings.branching], partial(pick, settings=settings)
    for index in range(settings.round_limit):
        for branch in branches:
            branch.canvas.advance(settings.tau_add, settings.tau_act)
        if branches[-1].canvas.complete():
            return finish(branches[-1].canvas, "complete")
        sight = look(branches, settings, past, boundary, shifted=config.shifted, round_index=index)
        seen = sight.split(engine.forward(sight.window), boundary)
        scores = branching.weigh(branches, sight.slots, seen, settings, picked)
        scored = tuple(Scored(branch.tried, *each, branch.more) for branch, *each in zip(branches, scores, sight.slots, seen))
        won = choose(forced or {}, index, scores)
        canvas, slots = branches[won].canvas, sight.slots[won]
        told = past.tell(slots, seen[won])
        if past.in_engine:
            engine.keep(won)
        committed = canvas.committed
        if canvas.closing > committed:
            engine.commit(won, sight.window.start, sight.window.kept or canvas.closing)
            canvas.committed, boundary = canvas.closing, None
        if boundary is None and len(slots) and slots[0] == canvas.committed:
            boundary = told.part(slice(0, 1))
        left, filled = useful(canvas, slots, settings), picked(canvas, slots, told)
        canvas.write(slots[filled], told.tokens[filled])
        past.wrote(slots[filled], told.probabilities[filled])
        taken = NOTHING
        if settings.remask != NONE:
            doubtful, claimed = sight.opinion(won)
            surplus = canvas.decided() - (index + 1)
            taken = REMASKINGS[settings.remask].doubted(doubtful, past.reread(doubtful, claimed), len(filled), surplus, settings)
            canvas.take_back(taken)
        yield Round(index, scored, won, filled, sight.window.start, canvas.end, committed, taken, sight.copies)
        if settings.stop_at_eos and canvas.answered():
            return finish(canvas, "eos")
        canvas.retire()
        left[filled] = False
        branches = branching.spawn(canvas, slots[left], told.part(left), settings)
    return finish(branches[-1].canvas, "round limit")


def choose(forced: Mapping[int, int], index: int, scores: Sequence[float]) -> int:
    """The branch that goes on: the forced one where there is one, else the winner."""
    if not 0 <= forced.get(index, 0) < len(scores):
        raise SettingsError(f"Round {index} has {len(scores)} branches, so branch {forced[index]} cannot win it.")
    return forced[index] if index in forced else winner(scores)


def finish(canvas: Canvas, reason: str) -> Outcome:
    return Outcome(tuple(canvas.tokens[canvas.prompt : canvas.end].tolist()), reason)


def check_prompt(prompt: Sequence[int], config: ModelConfig, settings: DecodeSettings) -> None:
    """Raise SettingsError, or ModelError, with a sentence if `prompt` cannot be decoded by this model."""
    check_attention(config, settings.attention)
    if config.encoder and settings.suffix == "cached":
        raise SettingsError(f"{config.family} is an encoder, which caches no keys and values: take suffix masks or none.")
    if settings.eos_token_id is not None and settings.eos_token_id >= config.vocab_size:
        raise SettingsError(f"eos_token_id {settings.eos_token_id} lies outside the vocabulary of {config.vocab_size}.")
    if not len(prompt):
        raise SettingsError("The prompt is empty: give at least one token.")
    room = config.max_positions - settings.slots
    if len(prompt) > room:
        raise SettingsError(
            f"The prompt has {len(prompt)} tokens; with {settings.slots} new ones this model has room for {max(room, 0)}: "
            "shorten the prompt or ask for fewer new tokens."
        )
    wrong = [token for token in prompt if not isinstance(token, (int, np.integer)) or not 0 <= token < config.vocab_size]
    if wrong:
        raise SettingsError(f"Token {wrong[0]!r} lies outside the vocabulary of {config.vocab_size}.")
