"""A text as a short value of an address: UTF-8, deflated (zlib, whose checksum tells damage), in base64 for addresses.

A browser percent-encodes a letter of most scripts into 6 to 12 characters; packed it takes about 3 or 4. Browsers call the
same format "deflate" (DecompressionStream).
"""

from __future__ import annotations

import base64
import zlib


class PackingError(ValueError):
    """A value that cannot be unpacked; the message is for a person."""


def pack(text: str) -> str:
    return base64.urlsafe_b64encode(zlib.compress(text.encode("utf-8"), 9)).decode("ascii").rstrip("=")


def unpack(value: str, longest: int) -> str:
    """The text that `pack` was given. A few letters may unpack to gigabytes, so it stops early.

    Args:
        value: anything; a link comes from anybody.
        longest: characters the text may have.

    Raises:
        PackingError: if the value is damaged, or its text longer.
    """
    most = 4 * longest  # bytes in UTF-8
    reader = zlib.decompressobj()
    try:
        plain = reader.decompress(base64.b64decode(value + "=" * (-len(value) % 4), altchars=b"-_", validate=True), most + 1)
        text = plain.decode("utf-8") if reader.eof else ""
    except (ValueError, zlib.error):  # of base64, of UTF-8, of the checksum
        raise PackingError("is damaged, perhaps because it was not copied as a whole") from None
    if len(plain) > most or len(text) > longest:
        raise PackingError(f"has more than {longest} characters")
    if not reader.eof or reader.unused_data:
        raise PackingError("is damaged, perhaps because it was not copied as a whole")
    return text
