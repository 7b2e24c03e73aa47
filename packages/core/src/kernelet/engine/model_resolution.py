"""A model's name to a local folder: a plugin's name or file, a folder, or a name on the Hugging Face hub."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatch
from pathlib import Path

from kernelet.contracts.model import ModelSource
from kernelet.errors import ModelNotFoundError

SHOWN = 8
"""Files of a folder that a message names."""

HUB_FILES = (
    "*.json",
    "*.jinja",
    "*.safetensors",
    "*.model",
    "*.txt",
    "additional_chat_templates/*",
)
"""What is fetched of a hub's repository: configuration, tokenizer and weights; no other framework's formats."""

Download = Callable[[str], Path]
"""A hub's repository name to the folder with its files; raises HubError with the reason where it cannot."""

FindSource = Callable[[str], ModelSource | None]
"""The plugin's source that knows a model's name; None: no plugin does."""


def resolve_model(
    name: str,
    find_source: FindSource,
    known: Iterable[str] = (),
    download: Download | None = None,
    absent: Callable[[], str] = str,
    patterns: Sequence[str] = (),
) -> Path:
    """The folder of a model, fetched once if need be.

    Args:
        name: As the user gave it.
        find_source: Plugins' sources, which are asked first.
        known: Names that plugins know, for the message.
        download: Instead of the Hugging Face hub.
        absent: Says which installed plugins might know the name and do not run.
        patterns: Of names of files that plugins take; a folder may hold one.

    Raises:
        ModelNotFoundError: saying for each of the three ways why it failed.
    """
    source = find_source(name)
    if source is not None:
        return resolve_with_plugin(name, source)
    folder = Path(name).expanduser()
    if (folder / "config.json").is_file():
        return folder.resolve()
    if is_like(folder, patterns) and not folder.exists():
        raise ModelNotFoundError(f"there is no file {name!r}")
    files = sorted(path for path in folder.iterdir() if is_like(path, patterns)) if folder.is_dir() else []
    if len(files) == 1 and (source := find_source(str(files[0]))) is not None:
        return resolve_with_plugin(str(files[0]), source)
    if files:
        some = ", ".join(path.name for path in files[:SHOWN]) + (", ..." if len(files) > SHOWN else "")
        raise ModelNotFoundError(f"{name} holds {len(files)} files that are models or parts of one: name one: {some}")
    reasons = [no_plugin([*known, *(f"files {pattern}" for pattern in patterns)]), no_folder(folder)]
    try:
        return (download or download_from_hub)(name)
    except HubError as error:
        reasons.append(f"on the Hugging Face hub: {error}")
    raise ModelNotFoundError(f"there is no model {name!r}; " + "; ".join(reasons) + absent())


def is_like(path: Path, patterns: Sequence[str]) -> bool:
    """Whether a file's name is like one that a plugin takes."""
    return any(fnmatch(path.name.lower(), pattern.lower()) for pattern in patterns)


def resolve_with_plugin(name: str, source: ModelSource) -> Path:
    """Asks the source that knows the name; no other way is tried.

    Raises:
        ModelNotFoundError: it could not get the model.
    """
    folder = source.resolve(name)
    if not (folder / "config.json").is_file():
        raise ModelNotFoundError(f"{type(source).__name__} resolved {name!r} to {folder}, which has no config.json")
    return folder


def no_plugin(known: Iterable[str]) -> str:
    """Why no plugin served the name."""
    names = ", ".join(sorted(known))
    return f"by a plugin: no plugin knows this name (known: {names})" if names else "by a plugin: none offers models"


def no_folder(folder: Path) -> str:
    """Why the name is no model folder."""
    if folder.is_dir():
        return f"as a folder: {folder} has no config.json"
    return f"as a folder: {folder} {'is a file, which no plugin takes' if folder.exists() else 'does not exist'}"


class HubError(Exception):
    """The hub could not serve a name; the message is the reason."""


def download_from_hub(name: str) -> Path:
    """Fetches a repository into the hub's own cache, or finds it there.

    Raises:
        HubError: it is no repository name, unknown, not to be had without a login, or the hub is unreachable.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils.tqdm import disable_progress_bars

    if name.startswith(("/", ".", "~")):
        raise HubError("the name is a path")
    if not sys.stderr.isatty():
        disable_progress_bars()
    try:
        return Path(snapshot_download(name, allow_patterns=list(HUB_FILES)))
    except HFValidationError as error:
        raise HubError(f"it is no repository name ({one_line(error)})") from error
    except Exception as error:  # the library and its transport raise many kinds, all of which mean the same here
        raise HubError(one_line(error)) from error


def one_line(error: BaseException) -> str:
    """The first line of an error's message, or its kind."""
    return str(error).strip().partition("\n")[0] or type(error).__name__
