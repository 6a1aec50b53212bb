"""The `tokenizers` backend of a checkpoint folder: its tokenizer.json, or byte-level BPE from vocab.json and merges.txt.

The second is how Dream comes. Those two files do not tell how text is split into words before the merges; the tokenizer_class
does, for the classes named here. No class of the checkpoint's own is ever loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as Backend

from .errors import ModelError
from .files import read_text
from .special import read_special
from .token_files import CONFIG, VOCABULARY, WHOLE, TokenizerFiles

MERGES = "merges.txt"
# Qwen2's words: contractions; letters with one mark before them; a digit alone; marks; blanks, line ends by themselves.
QWEN2_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)  # fmt: skip


def has_tokenizer(folder: str | Path) -> bool:
    """Whether a folder has files that a Tokenizer is made from, complete or not."""
    return any((Path(folder) / name).is_file() for name in (WHOLE, VOCABULARY))


def read_backend(files: TokenizerFiles) -> Backend:
    """The folder's backend, in which every special token is one. Raises ModelError."""
    if files.has(WHOLE):
        backend = from_whole(files)
    elif files.has(VOCABULARY):
        backend = from_merges(files)
    else:
        raise ModelError(f"{files.folder} holds no tokenizer.json: give the prompt as token ids, or a folder with one.")
    mark_special(backend, files)
    return backend


def from_whole(files: TokenizerFiles) -> Backend:
    path = files.folder / WHOLE
    text = read_text(path)
    try:
        return Backend.from_str(text)
    except Exception as error:  # the library raises bare Exception for every kind of damage
        raise ModelError(f"{path} cannot be read: {error}.") from None


def from_merges(files: TokenizerFiles) -> Backend:
    """Byte-level BPE, with the added tokens at their own ids, wherever these lie."""
    split = splitter(files)
    path = files.folder / MERGES
    if not path.is_file():
        raise ModelError(f"{files.folder} holds a vocab.json but no merges.txt: download it anew, or give the prompt as token ids.")
    added = sorted(files.added.items())
    vocabulary = {text: files.index(VOCABULARY, index) for text, index in files.vocabulary.items()}
    vocabulary |= {token.content: index for index, token in added}
    merges = read_merges(path)
    try:
        backend = Backend(models.BPE(vocabulary, merges))
    except Exception as error:  # the library raises bare Exception for every kind of damage
        raise ModelError(f"{VOCABULARY} and {MERGES} in {files.folder} cannot be read or do not fit together: {error}.") from None
    split(backend, bool(files.config.get("add_prefix_space")))
    backend.decoder = decoders.ByteLevel()
    for _, token in added:
        backend.add_special_tokens([token]) if token.special else backend.add_tokens([token])
    return backend


def read_merges(path: Path) -> list[tuple[str, str]]:
    """The pairs of merges.txt, one a line under a line with its version. Raises ModelError for a line that is no pair."""
    pairs = []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.startswith("#version") or not line:
            continue
        parts = line.split(" ")
        if len(parts) != 2:
            raise ModelError(f"{path} is damaged: line {number} is no pair of tokens.")
        pairs.append((parts[0], parts[1]))
    return pairs


def splitter(files: TokenizerFiles) -> Callable[[Backend, bool], None]:
    """What gives a backend the words of the folder's tokenizer_class."""
    splitters = {"Qwen2Tokenizer": split_as_qwen2, "DreamTokenizer": split_as_qwen2, "GPT2Tokenizer": split_as_gpt2}
    name = str(files.config.get("tokenizer_class") or "").removesuffix("Fast")
    if name not in splitters:
        told = f"has the tokenizer_class {name!r}" if name else "does not tell the tokenizer_class"
        raise ModelError(
            f"{files.folder} holds vocab.json and merges.txt, but its {CONFIG} {told}, "
            f"and only {', '.join(splitters)} are known to split text without a tokenizer.json: add that file."
        )
    return splitters[name]


def split_as_qwen2(backend: Backend, blank_in_front: bool) -> None:
    backend.normalizer = normalizers.NFC()
    words = pre_tokenizers.Split(Regex(QWEN2_WORDS), behavior="isolated")
    backend.pre_tokenizer = pre_tokenizers.Sequence([words, pre_tokenizers.ByteLevel(add_prefix_space=blank_in_front, use_regex=False)])


def split_as_gpt2(backend: Backend, blank_in_front: bool) -> None:
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=blank_in_front)


def mark_special(backend: Backend, files: TokenizerFiles) -> None:
    """Make special what the files name as special though the backend holds it as an ordinary token, or not at all."""
    known = backend.get_added_tokens_decoder()
    for text, index in sorted(read_special(files).ids.items(), key=lambda each: each[1]):
        if index not in known or not known[index].special:
            backend.add_special_tokens([AddedToken(text, special=True, normalized=False)])
        if backend.token_to_id(text) != index:
            raise ModelError(
                f"{files.folder}: the special token {text!r} should have the id {index}, but {WHOLE} gives it "
                f"{backend.token_to_id(text)}; take the files of one tokenizer."
            )
