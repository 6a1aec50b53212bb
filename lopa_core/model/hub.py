"""A model by name: a folder as it is, or a repository of the Hub, loaded into huggingface_hub's ordinary cache.

Only what is read here is fetched: JSON, the tokenizer's files, safetensors; never pickles, never code. The small files go first,
so that a model which is not supported is refused before gigabytes are loaded. The environment means what it means to the library:
HF_HOME, HF_TOKEN, HF_ENDPOINT, HF_HUB_OFFLINE, HF_HUB_DISABLE_XET.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from huggingface_hub import try_to_load_from_cache
from huggingface_hub.errors import HFValidationError, RevisionNotFoundError
from huggingface_hub.utils import validate_repo_id

from .backend import has_tokenizer
from .catalogue import CATALOGUE
from .errors import ModelError
from .hub_failures import FAILURES, cause, first_line, sentence
from .hub_fetch import ADAPTER, CHECKPOINT, Fetch, Kind, listing
from .hub_progress import Progress

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """A checkpoint's folder. Of the Hub: the repository's id too, and the commit, 40 digits, for those who have to name it."""

    folder: Path
    id: str | None = None
    commit: str | None = None

    @property
    def name(self) -> str:
        """For people; a folder of the cache is named by its commit."""
        return self.id or self.folder.resolve().name


def find(name: str | Path, *, revision: str | None = None, progress: Progress | None = None, weights: bool = True) -> Found:
    """The checkpoint of this name: a folder, or "org/name" or "org/name@revision" on the Hub, loaded unless it is here.

    weights: whether they are loaded too, or only the small files, which tell what it is.
    revision: a branch, tag or commit; a commit that is here is used without a request. progress: is called with bytes done,
    bytes to load and the file's name while anything is loaded, and may raise to stop it. Without the network a copy that is
    here is used, and the log says so. Raises ModelError with one sentence for everything that can go wrong.
    """
    return locate(name, revision, CHECKPOINT, progress, weights)


def find_adapter(name: str | Path, *, revision: str | None = None, progress: Progress | None = None) -> Found:
    """As `find`, for a peft LoRA adapter: adapter_config.json and adapter_model.safetensors."""
    return locate(name, revision, ADAPTER, progress)


def locate(name: str | Path, revision: str | None, kind: Kind, progress: Progress | None, weights: bool = True) -> Found:
    folder = os.path.expanduser(name)
    if os.path.isdir(folder):
        if revision:
            raise ModelError(f"{name} is a folder, which has no revision {revision!r}: give a Hub id with it, or the folder alone.")
        return Found(Path(folder))
    remote = Remote(*read_name(str(name), revision), kind)
    here = remote.cached()
    if here and here.name == remote.revision and remote.whole(here):
        return remote.found(here)
    try:
        commit, files = listing(remote.id, remote.revision)
    except FAILURES as error:
        return remote.fall_back(error, weights)
    return remote.found(Fetch(remote.id, remote.revision, commit, files, kind, progress).run(weights))


def read_name(name: str, revision: str | None) -> tuple[str, str | None]:
    """(id, revision) of org/name or org/name@revision. Raises ModelError for everything else."""
    repository, _, told = name.partition("@")
    if told and revision and told != revision:
        raise ModelError(f"{name} names the revision {told!r}, and {revision!r} is asked for too: give one of them.")
    try:
        validate_repo_id(repository)
    except HFValidationError:
        raise ModelError(neither(name)) from None
    if "/" not in repository:
        raise ModelError(neither(name))
    return repository, told or revision


def neither(name: str) -> str:
    """The sentence for what is no folder and not shaped like a Hub id."""
    if os.path.isfile(name):
        return f"{name} is a file: give the folder that it is in, or a Hub id such as GSAI-ML/LLaDA-1.5."
    known = {text.casefold(): text for preset in CATALOGUE.values() for text in (preset.key, preset.hub) if text}
    close = [known[text] for text in get_close_matches(name.casefold(), known)]
    meant = f"; or did you mean {' or '.join(close)}?" if close else "."
    return f"There is no folder {name!r}, and a model of the Hub is written org/name, such as GSAI-ML/LLaDA-1.5{meant}"


@dataclass(frozen=True, slots=True)
class Remote:
    """A repository at a revision (None: its default branch), and what is wanted of it."""

    id: str
    revision: str | None
    kind: Kind

    def found(self, folder: Path) -> Found:
        return Found(folder, self.id, folder.name)

    def cached(self) -> Path | None:
        """The folder of the cache with this revision as it was last seen, maybe not all of it."""
        path = try_to_load_from_cache(self.id, self.kind.head, revision=self.revision)
        return Path(path).parent if isinstance(path, str) else None

    def whole(self, folder: Path) -> bool:
        """Whether nothing can be missing, whichever program loaded it: some leave the tokenizer out."""
        return not self.kind.lacks(folder) and (self.kind is ADAPTER or has_tokenizer(folder))

    def fall_back(self, error: Exception, weights: bool) -> Found:
        """What is here, if that will do where the Hub did not answer. Raises ModelError. error: one of FAILURES."""
        folder, told = self.cached(), sentence(error, self.id, self.revision)
        if folder is None or isinstance(error, RevisionNotFoundError):
            raise ModelError(told) from None
        if weights and (lacks := self.kind.lacks(folder)):
            raise ModelError(f"{told.rstrip('.')}; the copy that is here lacks {', '.join(lacks)}.") from None
        why = first_line(cause(error))
        LOG.warning("%s: the Hub did not help (%s); the copy that is here is used, commit %s.", self.id, why, folder.name)
        return self.found(folder)
