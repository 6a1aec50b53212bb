"""The special tokens of a checkpoint, told by its tokenizer's files: mask, begin and end of text, end of turn."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from .errors import ModelError
from .token_files import TokenizerFiles

# Names of the masks that LLaDA and SDAR tokenizers hold without calling them their mask_token.
MASKS = ("<|mdm_mask|>", "<|MASK|>", "<|mask|>")
# Where a vocabulary has both, <|im_end|> was added to it, so that is the one in use.
ENDS_OF_TURN = ("<|im_end|>", "<|eot_id|>")


@dataclass(frozen=True, kw_only=True, slots=True)
class SpecialTokens:
    """Ids; None where the folder does not tell. eot: the token that ends a turn of a chat.

    more_ends: end tokens besides eos, where another of the files names another one. ids: {text: id} of every special token.
    """

    mask: int | None = None
    bos: int | None = None
    eos: int | None = None
    pad: int | None = None
    eot: int | None = None
    more_ends: tuple[int, ...] = ()
    ids: dict[str, int] = field(default_factory=dict)

    @property
    def ends(self) -> tuple[int, ...]:
        """All tokens that end a text or a turn."""
        return tuple(index for index in (self.eos, *self.more_ends, self.eot) if index is not None)


def special_tokens(folder: str | Path) -> SpecialTokens:
    """Read by name from whichever files of a tokenizer `folder` has. Raises ModelError where they are damaged or contradict."""
    return read_special(TokenizerFiles(folder))


def read_special(files: TokenizerFiles) -> SpecialTokens:
    ids = {token.content: index for index, token in files.added.items() if token.special}
    roles = {role: named(files, f"{role}_token") for role in ("mask", "bos", "eos", "pad")}
    ids |= {files.names[f"{role}_token"]: index for role, index in roles.items() if index is not None}
    present = {token.content: index for index, token in files.added.items()}
    if roles["mask"] is None:
        masks = [text for text in MASKS if text in present]
        if len(masks) > 1:
            raise ModelError(f"{files.folder} has several mask tokens, {' and '.join(masks)}: name one as mask_token in its files.")
        roles["mask"] = present[masks[0]] if masks else None
        ids |= {text: present[text] for text in masks}
    further = {text: index for text in files.ends if (index := files.find(text)) not in (None, roles["eos"])}
    ids |= further
    eot = next((text for text in ENDS_OF_TURN if text in present), None)
    ids |= {eot: present[eot]} if eot else {}
    return SpecialTokens(**roles, eot=present.get(eot), more_ends=tuple(further.values()), ids=ids)


def named(files: TokenizerFiles, role: str) -> int | None:
    """The id of the token with this role; None if no file tells. Raises ModelError for a mask that the vocabulary lacks."""
    text = files.names.get(role)
    index = files.find(text) if text else None
    # without the others a model can do
    if role == "mask_token" and text and index is None and (files.added or files.vocabulary):
        raise ModelError(f"{files.folder}: its mask_token {text!r} is in none of the tokenizer's files; take the files of one tokenizer.")
    return index
