"""Devices: whether one can be used, and what it is called."""

from __future__ import annotations

import os
import platform
from functools import cache
from pathlib import Path

import torch

from ..model.errors import DeviceError


def usable(name: str | torch.device) -> torch.device:
    """The device of this name. Raises DeviceError where it is not there."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).cpu()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise DeviceError(f"Device {str(name)!r} cannot be used: {str(error).splitlines()[0]}") from None
    return device


def describe(device: torch.device) -> str:
    """The device in words, for score-cards and traces."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"CPU, {torch.get_num_threads()} thread{'s' if torch.get_num_threads() > 1 else ''} ({processor()})"


@cache
def processor() -> str:
    """The processor's name where the system tells it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def memory(device: torch.device) -> dict[str, int]:
    """Bytes in use and bytes there are: of a GPU, or of this process and its machine."""
    if device.type == "cuda":
        free, total = torch.cuda.mem_get_info(device)
        return {"used": total - free, "total": total}
    page, told = os.sysconf("SC_PAGE_SIZE"), Path("/proc/self/statm")
    resident = int(told.read_text(encoding="ascii").split()[1]) if told.exists() else 0
    return {"used": resident * page, "total": os.sysconf("SC_PHYS_PAGES") * page}


def available(device: torch.device) -> int:
    """Bytes that can still be had: of a GPU, or of memory as this machine and its container count it."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    told = Path("/proc/meminfo")
    if not told.exists():
        return memory(device)["total"]
    lines = dict(line.split(":") for line in told.read_text(encoding="ascii").splitlines())
    return min(1024 * int(lines["MemAvailable"].split()[0]), allowance(Path("/sys/fs/cgroup")))


def allowance(group: Path) -> float:
    """Bytes that a container may still take (Linux control groups, version 2); infinite where there is no limit."""
    limit, current = group / "memory.max", group / "memory.current"
    if not limit.exists() or limit.read_text(encoding="ascii").strip() == "max":
        return float("inf")
    return int(limit.read_text(encoding="ascii")) - int(current.read_text(encoding="ascii"))
