"""Files written whole beside their place and renamed into it, so that a full disk or an interruption leaves the old one as it was."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

PROBE = 4096  # bytes, a block of most disks: an empty file can be made on a full one


class WriteError(Exception):
    """What cannot be written; the message is a sentence that names the file and says why, or one for each of several."""


def cannot(path: str | Path, error: OSError) -> WriteError:
    return WriteError(f"{path} cannot be written: {reason(error, path)}.")


def write_text(path: str | Path, text: str) -> None:
    """Write a text file in UTF-8, whole or not at all. Raises WriteError."""
    data = text.encode("utf-8")
    with replacing(path) as file, file.open("wb") as out:
        out.write(data)


def write_tensors(path: str | Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Write a safetensors file, whole or not at all. Raises WriteError."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    with replacing(path) as file:
        try:
            save_file(dict(tensors), file, metadata=dict(metadata))
        except SafetensorError as error:  # of a full disk: it is no OSError and has its number in the text
            number = re.search(r"\(os error (\d+)\)", str(error))
            raise (OSError(int(number[1]), os.strerror(int(number[1]))) if number else WriteError(f"{path}: {error}.")) from None


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """An empty file beside `path` to write to; at the end it takes the place, with the permissions of what was there.

    A link stays one, what it points to is replaced. What is no plain file (a pipe, /dev/stdout) is written to as it is.
    Raises WriteError, also for an OSError of the block.
    """
    try:
        if special(path):
            yield Path(path)
            return
        place = Path(os.path.realpath(path))
        before = look_up(place)
        beside, made = create_beside(place, before)
        try:
            yield beside
            take_over(beside, before or made)  # some libraries put a file of their own there
            sync(beside)
            os.replace(beside, place)
        finally:
            with suppress(OSError):  # renamed, or on a disk that is gone: what happened before is told
                beside.unlink()
    except OSError as error:
        raise cannot(path, error) from None


def append(path: str | Path, text: str) -> None:
    """Add to the end of a file; where that fails, it is cut back to what it had. Raises WriteError."""
    data = memoryview(text.encode("utf-8"))
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            size = os.fstat(descriptor).st_size
            try:
                while data:  # near the end of a disk, a part is taken first
                    data = data[os.write(descriptor, data) :]
                os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, size)
                raise
        finally:
            os.close(descriptor)
    except OSError as error:
        raise cannot(path, error) from None


def make_folder(path: str | Path) -> None:
    """Make a folder and those above it, unless it is there. Raises WriteError."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot(path, error) from None


def check_writable(*paths: str | Path | None) -> None:
    """Raise WriteError for a file that could not be written now, or twice: to be asked before an hour of work. None is passed over."""
    places = set()
    for path in paths:
        if path is None or special(path):
            continue
        place = Path(os.path.realpath(path))
        if place in places:
            raise WriteError(f"{path} cannot be written twice: give each file a name of its own.")
        places.add(place)
        try:
            beside, _ = create_beside(place, look_up(place))
            try:
                beside.write_bytes(bytes(PROBE))
                sync(beside)
            finally:
                with suppress(OSError):
                    beside.unlink()
        except OSError as error:
            raise cannot(path, error) from None


def special(path: str | Path) -> bool:
    """Whether it is there and no plain file, or the name of an open descriptor: nothing can be renamed onto such a place."""
    folder = os.path.realpath(os.path.dirname(os.path.abspath(path)))
    if folder in ("/dev", "/dev/fd") or folder.startswith("/proc/"):
        return os.path.exists(path)
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def look_up(place: Path) -> os.stat_result | None:
    """The owner and permissions of the file there, None where there is none. Raises OSError unless it may be written."""
    try:
        descriptor = os.open(place, os.O_WRONLY)
    except FileNotFoundError:
        return None
    try:
        return os.fstat(descriptor)
    finally:
        os.close(descriptor)


def create_beside(place: Path, before: os.stat_result | None) -> tuple[Path, os.stat_result]:
    """A new empty file in the folder of `place`, open to nobody who may not read what is there now, and its own owner and permissions."""
    beside = place.with_name(f".{secrets.token_hex(8)}.part")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IMODE(before.st_mode) if before else 0o666)
    except PermissionError as error:
        raise PermissionError(error.errno, "its folder takes no new file") from None
    try:
        return beside, os.fstat(descriptor)
    finally:
        os.close(descriptor)


def take_over(file: Path, like: os.stat_result) -> None:
    """Give a file the owner and permissions of another one, as far as this user may."""
    with suppress(PermissionError):  # only root gives files away
        os.chown(file, like.st_uid, like.st_gid)
    os.chmod(file, stat.S_IMODE(like.st_mode))


def sync(file: Path) -> None:
    """Wait until it is on the disk: some file systems tell only then that there is no room, and a rename may overtake the content."""
    descriptor = os.open(file, os.O_WRONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def reason(error: OSError, path: str | Path) -> str:
    """Why, as the end of a sentence."""
    match error.errno:
        case errno.EISDIR:
            return "it is a folder"
        case errno.EEXIST | errno.ENOTDIR:
            return "a part of its path is a file, no folder"
        case errno.ENOENT:
            return f"there is no folder {Path(os.path.realpath(path)).parent}"
        case errno.ENOSPC | errno.EDQUOT:
            return "the disk is full"
    return error.strerror or str(error)
