"""Text files as people save them: with a byte-order mark, with the line ends of another system, in another encoding."""

from __future__ import annotations

import codecs

MARK = "\ufeff"
WIDE = {  # UTF-32 first: its mark begins with that of UTF-16
    codecs.BOM_UTF32_LE: "UTF-32", codecs.BOM_UTF32_BE: "UTF-32", codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16",
}  # fmt: skip


class EncodingError(ValueError):
    """Bytes that are no text in UTF-8; the message goes on where a sentence has named the file."""


def decode_text(data: bytes) -> str:
    """The text of a file, its lines ending in a line feed, without a byte-order mark. Raises EncodingError."""
    for mark, name in WIDE.items():
        if data.startswith(mark):
            raise EncodingError(f"is in {name}: save it in UTF-8")
    if b"\0" in data:
        raise EncodingError("is not text in UTF-8: it has zero bytes, as UTF-16 has: save it in UTF-8")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise EncodingError("is not text in UTF-8") from None
    return text.removeprefix(MARK).replace("\r\n", "\n").replace("\r", "\n")
