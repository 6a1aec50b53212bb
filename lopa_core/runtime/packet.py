"""What crosses between ranks: terms as a decode begins, then in each round a fixed header and the records of a rank's
masked slots, each 12 bytes and what the decoder's rules ask for besides (decode/columns.py).

Every rank knows from the window how many records each of them has, so nothing but the bytes themselves is sent. The
checksum is of what the rank was asked: ranks that have drifted apart are found out in the round in which they do.

A collective whose pieces differ in size ends the process. So terms are of one size always, packets of one size through a
decode, by what the terms agree on; records beyond that follow once all ranks are known to have been asked the same.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import astuple, dataclass

import numpy as np

from ..decode.window import PER_QUERY, Window

FINE, FAILED = 0, 1
HEADER = struct.Struct("<IIIIdd")  # status, cancel, checksum, unused, began, ended
PLAIN = 3  # numbers of a record, fp32: token, probability, confidence
GRAIN = 32  # records: room grows in steps
MOST = 1024  # records of a packet; a round with more of them pays for a second collective
TERMS = 512  # bytes


@dataclass(frozen=True, slots=True)
class Header:
    """status: FINE or FAILED; cancel: whether this rank was told to stop; began, ended: seconds since the round's start."""

    status: int = FINE
    cancel: bool = False
    checksum: int = 0
    began: float = 0.0
    ended: float = 0.0


def room(counts: list[int], width: int = PLAIN) -> int:
    """Bytes of a packet with room for the given records per rank, of `width` numbers each."""
    most = max(counts)
    return HEADER.size + 4 * width * (-(-most // GRAIN) * GRAIN)


def write(header: Header, size: int) -> np.ndarray:
    """A packet [size] uint8 without records."""
    packet = np.zeros(size, dtype=np.uint8)
    fields = (header.status, int(header.cancel), header.checksum, 0, header.began, header.ended)
    packet[: HEADER.size] = np.frombuffer(HEADER.pack(*fields), dtype=np.uint8)
    return packet


def read(packet: np.ndarray, count: int, width: int = PLAIN) -> tuple[Header, np.ndarray]:
    """The header and the records [width, count] fp32 of a packet."""
    status, cancel, checksum, _, began, ended = HEADER.unpack(packet[: HEADER.size].tobytes())
    records = packet[HEADER.size : HEADER.size + 4 * width * count].view(np.float32).reshape(width, count)
    return Header(status, bool(cancel), checksum, began, ended), records


def write_terms(terms: Mapping[str, str]) -> np.ndarray:
    """Terms as [TERMS] uint8."""
    return np.frombuffer(json.dumps(terms).encode().ljust(TERMS), dtype=np.uint8).copy()


def read_terms(data: np.ndarray) -> dict[str, str]:
    return json.loads(data.tobytes())


def checksum(window: Window) -> int:
    """Of everything a window asks."""
    told = zlib.crc32(np.int64([window.start, window.prompt, window.block_size, window.kept]).tobytes())
    for part in (window.tokens, window.ends, window.columns, window.queries, *(getattr(window, name) for name in PER_QUERY)):
        told = zlib.crc32(b"-" if part is None else part.tobytes(), told)
    for part in astuple(window.copies) if window.copies else ():
        told = zlib.crc32(part.tobytes(), told)
    return told
