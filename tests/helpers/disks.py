"""A disk of 256 KB, and what is left of it taken away."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SIZE = "256k"


class Disk:
    """A folder in which files can be written until it is full. mounted: whether it is a file system of its own.

    Where none may be mounted, files are limited in size while it is full, which stops a write half-way just as well.
    """

    def __init__(self, folder: Path, mounted: bool) -> None:
        self.folder, self.mounted = folder, mounted
        self.limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(self, left: int = 0) -> None:
        """Leave so many bytes, in whole blocks."""
        if not self.mounted:
            resource.setrlimit(resource.RLIMIT_FSIZE, (max(left, 8), self.limits[1]))
            return
        room = os.statvfs(self.folder)
        with open(self.folder / "filler", "ab", buffering=0) as file:
            file.write(bytes(room.f_bavail * room.f_frsize - left))

    def make_room(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self.limits)
        (self.folder / "filler").unlink(missing_ok=True)

    def names(self) -> set[str]:
        return {path.name for path in self.folder.rglob("*")} - {"filler"}


@contextmanager
def small_disk(folder: Path) -> Iterator[Disk]:
    folder.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)], capture_output=True)
    disk = Disk(folder, mounted=mount.returncode == 0)
    try:
        yield disk
    finally:
        disk.make_room()
        if disk.mounted:
            subprocess.run(["umount", str(folder)], check=True)
