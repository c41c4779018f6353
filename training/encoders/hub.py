"""Hubs of models: repositories' sizes, licences and files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models import extras
from models.encoders.layouts import FolderLayout
from models.encoders.open_clip import OpenClipLayout
from training.encoders.licences import list_warnings, read_licence

NAME = re.compile(r"([\w.-]+/[\w.-]+)(?:@([\w./-]+))?")  # OWNER/NAME@REVISION
README = "README.md"
SAFE_FILES = re.compile(
    r"[^/]+\.(json|safetensors)|README\.md|LICENSE[^/]*"
)  # no pickles, no programs
OPEN_CLIP = re.compile(r"open_clip_.*")


@dataclass(frozen=True, slots=True)
class Repository:
    """A hub's repository at one commit, and its files of weights."""

    name: str
    commit: str
    licence: str
    files: tuple[str, ...]
    size: int
    missing: int  # bytes that were not fetched yet
    fetched: Path | None = None  # where no hub answers: the folder of an earlier fetch

    def describe(self) -> str:
        """Describe the fetch in a line."""
        left = f", {self.missing / 1e6:,.0f} MB to fetch" if self.missing else ", fetched already"
        return (
            f"{self.name} at {self.commit[:12]}: {self.size / 1e6:,.0f} MB{left}; "
            f"licence, as stated there: {self.licence or 'none'}"
        )


@dataclass(frozen=True, slots=True)
class EncoderWeights:
    """A folder of weights, its name, and its commit or ""."""

    folder: Path
    name: str
    revision: str


def locate(source: str, revision: str | None, report: Callable[[str], None]) -> EncoderWeights:
    """Locate weights in a folder, or fetch a hub's repository.

    Size, licence and warnings are reported before anything large is fetched. LookupError for
    neither.
    """
    folder = Path(source).expanduser()
    if folder.is_dir():
        return EncoderWeights(folder, folder.resolve().name, "")
    name, revision = split_revision(source, revision)
    repository = find_repository(name, revision)
    report(repository.describe())
    for warning in list_warnings(repository.licence, name.lower()):
        report(f"warning: {warning}")
    return EncoderWeights(fetch(repository), name.rpartition("/")[2], repository.commit)


def split_revision(name: str, revision: str | None) -> tuple[str, str | None]:
    """Split `OWNER/NAME@REVISION`; LookupError for another name.

    >>> split_revision("google/tipsv2-b14@main", None)
    ('google/tipsv2-b14', 'main')
    """
    named = NAME.fullmatch(name)
    if named is None:
        raise LookupError(
            f"there is no folder {name}; a repository of a hub has a name such as "
            "google/siglip2-base-patch16-224, or OWNER/NAME@REVISION"
        )
    return named[1], revision or named[2]


def find_repository(name: str, revision: str | None) -> Repository:
    """Ask the hub for a repository, or else the cache.

    LookupError where there is no such repository or revision.
    """
    hub, errors = _import_hub()
    hub.utils.disable_progress_bars()  # nothing large is fetched yet
    try:
        listed = hub.snapshot_download(name, revision=revision, dry_run=True)
    except errors.RevisionNotFoundError as absent:
        raise LookupError(f"{name} has no revision {revision!r} in the hub") from absent
    except (errors.DryRunError, errors.LocalEntryNotFoundError) as failed:
        _refuse_absent(name, failed.__cause__, errors)
        return _find_fetched(name, revision, hub)
    finally:
        hub.utils.enable_progress_bars()
    chosen = choose_files([file.filename for file in listed])
    files = [file for file in listed if file.filename in chosen]
    commit, licence = str(listed[0].commit_hash), ""
    if README in chosen:
        licence = read_licence(Path(hub.hf_hub_download(name, README, revision=commit)).parent)
    missing = sum(file.file_size for file in files if not file.is_cached)
    return Repository(name, commit, licence, chosen, sum(file.file_size for file in files), missing)


def choose_files(names: Sequence[str]) -> tuple[str, ...]:
    """Choose the files to fetch, of one layout.

    >>> choose_files(["config.json", "model.safetensors", "open_clip_model.safetensors", "a.bin"])
    ('config.json', 'model.safetensors')
    """
    chosen = [name for name in names if SAFE_FILES.fullmatch(name)]
    if {FolderLayout.config_file, FolderLayout.weights_file} <= set(chosen):
        chosen = [name for name in chosen if not OPEN_CLIP.fullmatch(name)]
    if OpenClipLayout.weights_file in chosen:
        chosen = [name for name in chosen if name != FolderLayout.weights_file]
    return tuple(chosen)


def fetch(repository: Repository) -> Path:
    """Fetch a repository's files, with bars on a terminal; returns their folder.

    LookupError where the hub breaks off: the next call continues.
    """
    if repository.fetched is not None:
        return repository.fetched
    hub, errors = _import_hub()
    broken = (errors.HfHubHTTPError, errors.LocalEntryNotFoundError, OSError)
    try:
        return Path(
            hub.snapshot_download(
                repository.name,
                revision=repository.commit,
                allow_patterns=list(repository.files),
            )
        )
    except broken as failed:
        raise LookupError(
            f"{repository.name} could not be fetched whole ({type(failed).__name__}: {failed}); "
            "try again, which continues"
        ) from failed


def _refuse_absent(name: str, cause: BaseException | None, errors: Any) -> None:
    """Raise LookupError for a repository refused by the hub."""
    if isinstance(cause, errors.GatedRepoError):
        raise LookupError(
            f"the hub gives {name} to those alone who agreed to its licence: agree on its page, "
            "run `hf auth login`, and try again"
        ) from cause
    if isinstance(cause, errors.RepositoryNotFoundError):
        raise LookupError(
            f"there is no folder {name}, and the hub has no repository of that name that it gives "
            "to you"
        ) from cause


def _find_fetched(name: str, revision: str | None, hub: Any) -> Repository:
    """Find an earlier fetch; LookupError without one."""
    settings = (FolderLayout.config_file, OpenClipLayout.config_file)
    cached = [hub.try_to_load_from_cache(name, file, revision=revision) for file in settings]
    places = [Path(file).parent for file in cached if isinstance(file, str)]
    if not places:
        raise LookupError(
            f"there is no folder {name}, and no repository of that name can be fetched: no hub "
            f"answers at {hub.constants.ENDPOINT}. Name a folder, or download it where a hub is "
            f"reachable with `hf download {name} --local-dir FOLDER`"
        )
    folder = places[0]
    sizes = {path.name: path.stat().st_size for path in folder.iterdir() if path.is_file()}
    files = choose_files(sorted(sizes))
    total = sum(sizes[file] for file in files)
    return Repository(name, folder.name, read_licence(folder), files, total, 0, folder)


def _import_hub() -> tuple[Any, Any]:
    """Import the hub's library and its errors; LookupError if it is missing."""
    try:
        import huggingface_hub
        from huggingface_hub import constants, errors, utils  # noqa: F401 - read as its attributes
    except ImportError as missing:
        raise LookupError(
            f"to fetch a model from a hub, {extras.install('pretrained')}; or name a folder"
        ) from missing
    return huggingface_hub, errors
