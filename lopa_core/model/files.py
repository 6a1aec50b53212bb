"""Reading a checkpoint's small JSON files, with everything that can be wrong with one said in a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..io.reading import EncodingError, decode_text
from .errors import ModelError


def read_object(path: Path, *, missing: str) -> dict[str, Any]:
    """The JSON object in `path`. Raises ModelError; `missing` is its sentence where there is no such file."""
    try:
        value = json.loads(decode_text(path.read_bytes()))
    except FileNotFoundError:
        raise ModelError(missing) from None
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}.") from None
    except EncodingError as error:
        raise ModelError(f"{path} {error}.") from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise ModelError(f"{path} is not a JSON file in UTF-8: {error}.") from None
    if not isinstance(value, dict):
        raise ModelError(f"{path} must hold a JSON object.")
    return value
