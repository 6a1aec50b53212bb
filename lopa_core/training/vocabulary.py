"""The embedded model's tokenizer: byte-level BPE trained on the generated problems, every small number one token.

A number is one token on purpose: the digits of a number depend on each other, which is what parallel decoding
breaks; with digit tokens the same network stays under 10 % exact match.
"""

from __future__ import annotations

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from ..tasks.registry import mixed

EOS, MASK = "<|endoftext|>", "<|mask|>"
ANSWER_CUE = "\nAnswer:"  # between a question and its solution
PROMPT_TEMPLATE = "{{ prompt }}" + ANSWER_CUE
LARGEST_NUMBER = 120
SAMPLE = 20_000  # problems the merges are learned from; more change nothing, the vocabulary is closed


def train_tokenizer(vocab_size: int, seed: int) -> Tokenizer:
    """A tokenizer of exactly `vocab_size` entries. Any UTF-8 text has an encoding, since all bytes are in it."""
    numbers = [f"{space}{n}" for n in range(LARGEST_NUMBER + 1) for space in ("", " ")]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - len(numbers),
        special_tokens=[EOS, MASK],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator((f"{p.question}{ANSWER_CUE} {p.solution}" for p in mixed(SAMPLE, seed=seed)), trainer)
    tokenizer.add_tokens([AddedToken(number, normalized=False) for number in numbers])
    filler = vocab_size - tokenizer.get_vocab_size()
    tokenizer.add_tokens([AddedToken(f"<|unused{n}|>") for n in range(filler)])
    return tokenizer
