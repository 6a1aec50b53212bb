"""What crosses between ranks in a round: a fixed header and the records of a rank's masked slots, 12 bytes each.

Every rank knows from the window how many records each of them has, so nothing but the bytes themselves is sent. The
checksum is of what the rank was asked: ranks that have drifted apart are found out in the round in which they do.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

import numpy as np

from ..decode.window import Window

FINE, FAILED = 0, 1
HEADER = struct.Struct("<IIIIdd")  # status, cancel, checksum, unused, began, ended
RECORD = 12  # bytes: token, probability, confidence as fp32
GRAIN = 32  # records: room grows in steps, so that ranks that disagree by a few still meet


@dataclass(frozen=True, slots=True)
class Header:
    """status: FINE or FAILED; cancel: whether this rank was told to stop; began, ended: seconds since the round's start."""

    status: int = FINE
    cancel: bool = False
    checksum: int = 0
    began: float = 0.0
    ended: float = 0.0


def room(counts: list[int]) -> int:
    """Bytes of a packet, the same on all ranks, for the given records per rank."""
    most = max(counts)
    return HEADER.size + RECORD * (-(-most // GRAIN) * GRAIN)


def write(header: Header, size: int) -> np.ndarray:
    """A packet [size] uint8 without records."""
    packet = np.zeros(size, dtype=np.uint8)
    fields = (header.status, int(header.cancel), header.checksum, 0, header.began, header.ended)
    packet[: HEADER.size] = np.frombuffer(HEADER.pack(*fields), dtype=np.uint8)
    return packet


def read(packet: np.ndarray, count: int) -> tuple[Header, np.ndarray]:
    """The header and the records [3, count] fp32 of a packet."""
    status, cancel, checksum, _, began, ended = HEADER.unpack(packet[: HEADER.size].tobytes())
    records = packet[HEADER.size : HEADER.size + RECORD * count].view(np.float32).reshape(3, count)
    return Header(status, bool(cancel), checksum, began, ended), records


def checksum(window: Window) -> int:
    """Of everything a window asks."""
    told = zlib.crc32(np.int64([window.start, window.prompt, window.block_size]).tobytes())
    for part in (window.tokens, window.ends, window.columns, window.queries, window.uniforms):
        told = zlib.crc32(b"-" if part is None else part.tobytes(), told)
    return told
