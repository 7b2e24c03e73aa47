"""Runs the tests of KV connectors that need other projects' libraries, in the environment `kv` of hatch.toml.

python tests/kv.py [--install] [arguments of pytest]

``--install`` only installs the libraries. They are no dependencies of the environment, since pip may not see what they
ask for: LMCache wants CUDA's Python packages, NIXL two wheels, one for each CUDA, and none of it is needed on a CPU.
What cannot be installed or loaded is skipped, and the last lines say what and why.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
LIBRARIES = {
    "kv-lmcache": ("lmcache==0.5.6",),
    "kv-nixl": ("nixl-cu12==1.5.1", "nixl==1.5.1"),
    "kv-mooncake": ("mooncake-transfer-engine-non-cuda==0.3.13.post1",),
}
"""What each package is tested with."""
SYSTEM = {
    "kv-mooncake": ("libibverbs.so.1", "Debian's package libibverbs1 is not installed: apt-get install libibverbs1")
}
"""What a package's library loads; where it is missing, importing that fails, and importing LMCache beside it too."""


def missing(package: str) -> str:
    """Why a package cannot be tested here; empty: it can."""
    name, why = SYSTEM.get(package, ("", ""))
    try:
        ctypes.CDLL(name or None)
    except OSError:
        return why
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", *LIBRARIES[package]]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    lines = done.stderr.strip().splitlines() or [f"pip ended with {done.returncode}"]
    return lines[-1] if done.returncode else ""


def main(arguments: list[str]) -> int:
    skipped = {package: why for package in LIBRARIES if (why := missing(package))}
    code = 0
    if arguments[:1] != ["--install"]:
        folders = [f"packages/{package}" for package in LIBRARIES if package not in skipped]
        pytest = [sys.executable, "-m", "pytest", *(folders or ["--version"]), *arguments]
        code = subprocess.run(pytest, cwd=ROOT, check=False).returncode
    for package, why in skipped.items():
        print(f"skipped the tests of {package}: {why}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
