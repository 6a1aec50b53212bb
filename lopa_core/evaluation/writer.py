"""From questions to answers: one decoder of one model, kept in a journal as it goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tqdm import tqdm

from ..decode.loop import check_prompt
from ..decode.settings import DecodeSettings, SettingsError
from ..model.errors import ModelError
from ..runtime.session import LocalModel, Model
from ..trace.metrics import measure
from .errors import EvaluationError
from .journal import Answer, Journal, Request
from .scheduler import in_turn
from .stops import cut, needed, settled, stopped


class Writer:
    """Answers questions. in_flight: prompts under way at once, which take turns. Raises ModelError for a model without a tokenizer.

    An answer ends with the model's end of text, at a stop string, or with its slots. Decoding stops there too, unless the
    settings decode to the last mask (stop_at_eos is off); the tokens counted are then those up to the stop string, with it.
    """

    def __init__(self, model: Model, decoder: str, settings: DecodeSettings, journal: Journal, *, in_flight: int = 1) -> None:
        if model.tokenizer is None:
            raise ModelError(f"{model.name} has no tokenizer, so it cannot read the questions.")
        if in_flight > 1 and not isinstance(model, LocalModel):
            raise EvaluationError("Prompts in flight share the device of this process: leave out --in-flight or --ranks.")
        if not 1 <= in_flight <= 64:
            raise EvaluationError(f"--in-flight must lie between 1 and 64, not {in_flight}.")
        self.model, self.decoder, self.settings = model, decoder, settings
        self.journal, self.in_flight, self.cold = journal, in_flight, True

    @property
    def chat(self) -> bool:
        """Whether questions stand inside a chat template: answers are then replies, not continuations."""
        return self.model.tokenizer.template is not None

    @property
    def samples(self) -> bool:
        """Whether another seed writes another answer."""
        return self.settings.temperature > 0

    def write(self, requests: Sequence[Request]) -> list[Answer]:
        """Their answers, in the order of the questions; those of the journal are not written anew.

        Raises SettingsError, before any is written, for a prompt that the model has no room for.
        """
        twice = [key for key, count in Counter(request.name for request in requests).items() if count > 1]
        if twice:
            raise EvaluationError(f"Two questions are both called {twice[0]}: give each a name of its own.")
        ready = [(request, *self.encode(request)) for request in requests if self.journal.find(request) is None]
        with tqdm(total=len(requests), initial=len(requests) - len(ready), unit="question", dynamic_ncols=True) as bar:
            for request, answer in in_turn((self.answer(*each) for each in ready), self.in_flight):
                self.journal.add(request, answer)
                bar.update()
        return [self.journal.find(request) for request in requests]

    def encode(self, request: Request) -> tuple[list[int], DecodeSettings]:
        """Token ids of a prompt as it stands, blanks at its ends too, and the settings of its decode."""
        settings = self.settings
        if request.repeat:
            settings = replace(settings, seed=settings.seed + request.repeat)
        if request.longest is not None:
            blocks = max(1, -(-request.longest // settings.block_size))
            settings = replace(settings, max_new_tokens=min(settings.slots, blocks * settings.block_size))
        prompt = self.model.tokenizer.encode_prompt(request.prompt)
        try:
            check_prompt(prompt, self.model.config, settings)
        except SettingsError as error:
            raise SettingsError(f"Question {request.name}: {error}") from None
        return prompt, settings

    def answer(self, request: Request, prompt: list[int], settings: DecodeSettings) -> Iterator[tuple[Request, Answer] | None]:
        """A decode under way: None after every pass, the answer at the end. A warm-up goes before the first one."""
        race = self.model.race(prompt, {self.decoder: settings}, warm=self.cold)
        self.cold = False
        tape, mask, decode = race.tapes[self.decoder], self.model.config.mask_id, self.model.tokenizer.decode
        for _ in race.run():
            if settings.stop_at_eos and stopped(settled(tape.tokens, mask), request.until, decode):
                break
            yield None
        (trace,) = self.model.traces(race, "")
        metrics = measure(trace)
        written = settled(tape.tokens, mask)
        if settings.stop_at_eos and stopped(written, request.until, decode):
            metrics = replace(metrics, tokens=min(metrics.tokens, needed(written, request.until, decode)))
        yield request, Answer(text=cut(trace.text, request.until), metrics=metrics)
