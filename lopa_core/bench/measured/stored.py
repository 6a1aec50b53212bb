"""Results on disk: how one is made by its command, with what is known of machine and code, and how it is read back."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from ...runtime.device import processor
from ..files import ReportError, save
from .measurement import MEASURED, ROOT, Measurement, Result

CODE = ("lopa_core", "assets/lopa-tiny", ":!*.md")  # what a result depends on, as git takes paths


def measure(measurement: Measurement, folder: Path, limit: int | None = None) -> Path:
    """Run its command and store the result, whole or not at all, below `folder`; the command shows its own progress.

    Args:
        limit: problems of a trial, whose result no document shows.

    Returns: the file.
    Raises: ReportError where the command fails or prints something else; what was stored before stays.
    """
    about = {"command": measurement.typed(limit), "date": now(), "hardware": hardware(), "versions": versions()}
    command = [sys.executable, *measurement.argv(limit)]
    ended = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    if ended.returncode:
        raise ReportError(f"{measurement.name} is not measured: its command ended with exit code {ended.returncode}.")
    try:
        told = json.loads(ended.stdout)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise ReportError(f"{measurement.name} is not measured: its command printed no JSON object.")
    path = folder / measurement.path
    path.parent.mkdir(parents=True, exist_ok=True)
    save({MEASURED: about} | told, path)
    return path


def read(measurement: Measurement, folder: Path, limit: int | None = None) -> Result | None:
    """The stored result, None where there is none of this command: that of a trial, or one that does not say how it was made, is another.

    Raises: ReportError for a damaged one.
    """
    path = folder / measurement.path
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise ReportError(f"{path} cannot be read ({type(error).__name__}): measure {measurement.name} anew.") from None
    about = told.get(MEASURED, {}) if isinstance(told, dict) else None
    if not isinstance(about, dict):
        raise ReportError(f"{path} is no result of a measurement: measure {measurement.name} anew.")
    return told if about.get("command") == measurement.typed(limit) else None


def up_to_date(measurement: Measurement, folder: Path, limit: int | None = None) -> bool:
    """Whether there is a result of this command and of the code as it is now."""
    told = read(measurement, folder, limit)
    return told is not None and told[MEASURED].get("versions", {}).get("commit") == commit()


def provenance(told: Result) -> str:
    """When, on what and with which code a result was made."""
    about = told[MEASURED]
    known = about["versions"]
    code = f", code of {known['commit']}" if known["commit"] else ""
    return f"{about['date'][:10]}, {about['hardware']}, Python {known['python']}, torch {known['torch']}{code}"


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def hardware() -> str:
    """This machine in words."""
    devices = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    return " and ".join([f"{os.cpu_count()} cores ({processor()})", *devices])


def versions() -> dict[str, Any]:
    return {"python": platform.python_version(), "torch": version("torch"), "commit": commit()}


def commit() -> str:
    """The last commit that changed what is measured, and whether it has been changed since; "" outside a git checkout."""
    try:
        last = git("log", "-1", "--format=%h")
        return last + " with changes" if last and git("status", "--porcelain") else last
    except (FileNotFoundError, subprocess.CalledProcessError):
        return ""


def git(*words: str) -> str:
    ended = subprocess.run(["git", "-C", str(ROOT), *words, "--", *CODE], capture_output=True, text=True, encoding="utf-8", check=True)
    return ended.stdout.strip()
