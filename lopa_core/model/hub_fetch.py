"""Loading one repository of the Hub: which of its files, in which order, and whether they arrived as they are there."""

from __future__ import annotations

import hashlib
import logging
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import HfApi, constants, hf_hub_download
from huggingface_hub.errors import FileMetadataError, HTTPError
from huggingface_hub.hf_api import RepoSibling
from huggingface_hub.utils import get_session

from .errors import ModelError
from .family import read_config
from .hub_failures import FAILURES, ProxyError, broken_off, first_line, sentence
from .hub_progress import Meter, Progress
from .size import in_words
from .weights import read_index

LOG = logging.getLogger(__name__)
TRIES = 4  # per file; most broken connections are resumed by the library without our help
PICKLES = (".bin", ".pt", ".pth", ".ckpt")


@dataclass(frozen=True, slots=True)
class Kind:
    """What a folder holds. head: the file that makes it one. index: names the files of the weights where they are not one file."""

    head: str
    small: tuple[str, ...]
    weights: str
    index: str

    def lacks(self, folder: Path) -> list[str]:
        """Weights that are not in `folder`."""
        if (folder / self.weights).exists():
            return []
        if not (folder / self.index).exists():
            return [self.weights]
        return [name for name in sorted(set(read_index(folder / self.index).values())) if not (folder / name).exists()]


CHECKPOINT = Kind(
    head="config.json",
    small=(
        "generation_config.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "tokenizer.json",
        "vocab.json", "merges.txt", "chat_template.jinja", "chat_template.json",
    ),
    weights="model.safetensors",
    index="model.safetensors.index.json",
)  # fmt: skip
ADAPTER = Kind(head="adapter_config.json", small=(), weights="adapter_model.safetensors", index="adapter_model.safetensors.index.json")


def listing(repository: str, revision: str | None) -> tuple[str, dict[str, RepoSibling]]:
    """(commit, {name: file}) of a revision, in one request. Raises one of FAILURES."""
    check_proxy()
    asked = {"revision": revision, "files_metadata": True, "timeout": constants.HF_HUB_DOWNLOAD_TIMEOUT}
    try:
        info = HfApi().model_info(repository, **asked)
    except HTTPError:
        raise
    except (ValueError, KeyError, TypeError) as error:  # a web page, or JSON of somebody else
        raise FileMetadataError(f"its answer cannot be read: {first_line(error)}") from error
    if not info.sha or info.siblings is None:
        raise FileMetadataError("its answer names no commit or no files")
    return info.sha, {file.rfilename: file for file in info.siblings}


def check_proxy() -> None:
    """Raise ProxyError where the environment names a proxy that the library cannot use."""
    try:
        get_session()
    except Exception as error:  # no package for SOCKS, an unknown scheme, no URL: each is of another kind, and all of the proxy
        raise ProxyError(first_line(error)) from error


class Fetch:
    """One repository into the cache. files: the listing of `commit`, which `revision` (None: the default branch) points to."""

    def __init__(
        self, repository: str, revision: str | None, commit: str, files: dict[str, RepoSibling], kind: Kind, progress: Progress | None
    ) -> None:
        self.id, self.revision, self.commit, self.files = repository, revision, commit, files
        self.kind, self.progress = kind, progress

    def run(self, weights: bool = True) -> Path:
        """The folder with all of it, or with its small files alone. Raises ModelError."""
        kind = self.kind
        if kind.head not in self.files:
            raise ModelError(self.no_head())
        one_file = kind.weights in self.files  # where a repository has both, transformers reads this one too
        if not one_file and kind.index not in self.files:
            raise ModelError(self.no_weights())
        self.folder = self.fetch_head()
        large = self.absent(self.heavy(one_file)) if weights else []
        small = self.absent(name for name in kind.small if name in self.files)
        meter = Meter(sum(self.files[name].size or 0 for name in (*small, *large)), self.progress)
        self.fetch(small, meter)
        if kind is CHECKPOINT:
            read_config(self.folder)
        self.check_room(large)
        self.fetch(large, meter)
        return self.folder

    def heavy(self, one_file: bool) -> list[str]:
        """The files of the weights; where they are several, the index that names them is loaded for that."""
        kind = self.kind
        if one_file:
            return [kind.weights]
        self.fetch([kind.index], Meter(0, None))
        return self.listed(sorted(set(read_index(self.folder / kind.index).values())))

    def fetch_head(self) -> Path:
        """By the revision's own name, so that the cache remembers where it points. Returns the folder."""
        path = self.load(self.kind.head, self.revision, Meter(0, None))
        if path.parent.name != self.commit:  # somebody has pushed just now: stay with what came
            self.commit = path.parent.name
            try:
                _, self.files = listing(self.id, self.commit)
            except FAILURES as error:
                raise ModelError(sentence(error, self.id, self.commit)) from None
        return path.parent

    def fetch(self, names: Iterable[str], meter: Meter) -> None:
        for name in names:
            self.load(name, self.commit, meter)

    def load(self, name: str, revision: str | None, meter: Meter) -> Path:
        """One file into the cache, checked against the listing."""
        for left in reversed(range(TRIES)):
            meter.begin(name, self.files[name].size or 0)
            try:
                path = Path(hf_hub_download(self.id, name, revision=revision, tqdm_class=meter.bar()))
                break
            except FAILURES as error:
                if not left or not broken_off(error):
                    raise ModelError(sentence(error, self.id, self.revision)) from None
                LOG.warning("%s of %s broke off (%s) and is loaded again.", name, self.id, first_line(error))
        self.check(path, self.files[name])
        meter.end()
        return path

    def check(self, path: Path, file: RepoSibling) -> None:
        """Raise ModelError for a file that is not the one of the listing, and remove it, so that it is loaded anew next time."""
        told = file.lfs.sha256 if file.lfs else file.blob_id
        if file.size in (None, path.stat().st_size) and told in (None, digest(path, large=bool(file.lfs))):
            return
        for place in (path.resolve(), path):  # the blob, then the link to it
            place.unlink(missing_ok=True)
        raise ModelError(f"{file.rfilename} of {self.id} arrived damaged, its checksum is not the Hub's, and was removed: try again.")

    def absent(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if not (self.folder / name).exists()]

    def listed(self, names: list[str]) -> list[str]:
        """`names`, all of which the repository has to have."""
        if gone := [name for name in names if name not in self.files]:
            raise ModelError(f"{self.id} is incomplete: its {self.kind.index} names {', '.join(gone)}, which it does not hold.")
        return names

    def check_room(self, names: list[str]) -> None:
        """Raise ModelError where the cache's disk has no room for these files. What another revision brought is there already."""
        blobs = self.folder.parents[1] / "blobs"
        files = [self.files[name] for name in names]
        size = sum(file.size or 0 for file in files if not (file.lfs and (blobs / file.lfs.sha256).exists()))
        free = shutil.disk_usage(self.folder).free
        if size > free:
            raise ModelError(
                f"{self.id} needs {in_words(size)} more in {constants.HF_HUB_CACHE}, whose disk has {in_words(free)} free: make room, "
                "or set HF_HOME to a folder on a larger disk."
            )

    def no_head(self) -> str:
        other = ADAPTER if self.kind is CHECKPOINT else CHECKPOINT
        if other.head not in self.files:
            layout = "transformers" if other is ADAPTER else "peft"
            return f"{self.id} holds no {self.kind.head}: take a repository in the layout of {layout}."
        if other is ADAPTER:
            return f"{self.id} is a LoRA adapter, no model: give the model it belongs to, and {self.id} as --adapter."
        return f"{self.id} is a whole model, no LoRA adapter: give it as --model."

    def no_weights(self) -> str:
        pickled = sorted(name for name in self.files if name.endswith(PICKLES))
        if pickled:
            why = f"its weights are pickles ({pickled[0]}), which can run code and are not read"
            return f"{self.id} cannot be used: {why}; take a repository or a revision with {self.kind.weights}."
        return f"{self.id} holds no {self.kind.weights}: take a repository with weights as safetensors."


def digest(path: Path, *, large: bool) -> str:
    """The name of a file's content: its SHA-256 if it is large (kept outside git), else git's own."""
    with path.open("rb") as data:
        if large:
            return hashlib.file_digest(data, "sha256").hexdigest()
        content = data.read()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
