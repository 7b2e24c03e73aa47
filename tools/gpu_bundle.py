"""Packs what a machine with a device and no network needs to check and time kernels: ``hatch run gpu-bundle``."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("core", "models-decoder", "attention-*", "ops-*", "device-*", "platform-cuda", "platform-rocm")
"""Folders of packages/: those with kernels, and what runs them."""

THIRD_PARTY = (
    "attrs",
    "hypothesis",
    "iniconfig",
    "jinja2",
    "markupsafe",
    "msgspec",
    "packaging",
    "pluggy",
    "pygments",
    "pytest",
    "safetensors",
    "sortedcontainers",
)
"""What these import, but for torch, triton and numpy, which are the machine's."""

PYTHONS = ("3.11", "3.12", "3.13")
PLATFORM = "manylinux2014_x86_64"
LARGEST = 60 << 20
"""Bytes of a bundle."""


def folders(root: Path) -> list[Path]:
    """Packages that are packed, sorted."""
    found = {path.parent for name in PACKAGES for path in (root / "packages").glob(f"{name}/pyproject.toml")}
    return sorted(found)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist" / "gpu-bundle", help="the folder, or an older bundle")
    parser.add_argument("--python", default=",".join(PYTHONS), help="versions it is for: %(default)s")
    args = parser.parse_args(argv)
    pack(args.out, args.python.split(","))
    size = size_of(args.out)
    print(f"{args.out}: {size / 2**20:.1f} MiB. On the machine: sh run.sh")
    if size > LARGEST:
        sys.exit(f"the bundle has more than {LARGEST >> 20} MiB: pack it for fewer versions with --python")
    return 0


def pack(out: Path, pythons: Sequence[str]) -> None:
    """Writes the bundle, in the place of an older one.

    Raises:
        SystemExit: there is something else.
    """
    out = out.resolve()
    if out.exists() and not (out.is_dir() and (is_bundle(out) or not any(out.iterdir()))):
        sys.exit(f"--out {out}: it is there, and no bundle: name another folder")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".gpu-bundle-", dir=out.parent) as name:
        made = Path(name) / out.name
        _pack(made, pythons)
        if out.exists():
            shutil.rmtree(out)
        made.rename(out)


def is_bundle(folder: Path) -> bool:
    """The sources of a bundle, with the packages beside them that only a bundle has."""
    return (folder / "gpubench").is_dir() and (folder / "site").is_dir()


def _pack(out: Path, pythons: Sequence[str]) -> None:
    shutil.copytree(ROOT / "benchmarks" / "gpu", out, ignore=shutil.ignore_patterns("__pycache__"))
    with tempfile.TemporaryDirectory(prefix="gpu-bundle-") as name:
        wheels = Path(name)
        for folder in folders(ROOT):
            _build(folder, wheels)
        for version in pythons:
            mine = wheels / version
            _download(version, mine)
            for wheel in sorted(mine.glob("*-none-any.whl")):
                wheel.replace(wheels / wheel.name)
            unpack(mine.glob("*.whl"), out / f"site-{version}")
        unpack(wheels.glob("*.whl"), out / "site")


def _build(folder: Path, wheels: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def _download(version: str, wheels: Path) -> None:
    """Wheels of others for one version of Python, in the versions of constraints.txt."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--python-version", version, "--platform", PLATFORM, "--dest", str(wheels), *THIRD_PARTY]
    subprocess.run(command, check=True, env={**os.environ, "PIP_CONSTRAINT": str(ROOT / "constraints.txt")})


def unpack(wheels: Iterable[Path], into: Path) -> None:
    """Wheels as pip would lay them out, but for scripts and data.

    A package lies in one folder, as Python finds it: those with compiled modules once for each version.
    """
    into.mkdir(parents=True, exist_ok=True)
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(into, [name for name in archive.namelist() if ".data/" not in name])


def size_of(folder: Path) -> int:
    """Bytes of all files."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    sys.exit(main())
