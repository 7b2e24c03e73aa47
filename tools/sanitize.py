"""Calls the CPU's kernels with buffers of numpy under two sanitizers, of addresses and of undefined behaviour.

`hatch run sanitize` builds the extension of platform-cpu with both and runs packages/platform-cpu/tests/kernels with
that build; torch is not imported. Needs GCC on Linux. What is found stops the run with the sanitizer's report.

python tools/sanitize.py [--isas portable,avx2] [--build FOLDER] [arguments of pytest]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = ROOT / "packages/platform-cpu"
PRELOADED = ("libasan.so", "libstdc++.so")
"""Before the interpreter, which is not linked with them; the second, so that exceptions are seen."""
ENVIRONMENT = {
    "ASAN_OPTIONS": "detect_leaks=0",  # the interpreter's own
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "PYTHONMALLOC": "malloc",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


def compiler() -> str:
    return os.environ.get("CXX", "g++")


def preloaded() -> list[str]:
    """Paths of the libraries that must come first; the compiler names them as it knows them where it has none."""
    asked = ([compiler(), f"-print-file-name={name}"] for name in PRELOADED)
    return [subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip() for command in asked]


def build(folder: Path, isas: str) -> Path:
    """The extension, compiled with both sanitizers."""
    found = subprocess.run(
        [sys.executable, "-m", "nanobind", "--cmake_dir"], check=True, capture_output=True, text=True
    ).stdout.strip()
    tools = Path(sys.executable).parent
    environment = os.environ | {"PATH": os.pathsep.join([str(tools), os.environ.get("PATH", "")])}
    settings = {
        "KERNELET_SANITIZE": "ON",
        "KERNELET_ISAS": isas.replace(",", ";"),
        "CMAKE_CXX_COMPILER": compiler(),
        "nanobind_DIR": found,
        "Python_EXECUTABLE": sys.executable,
    }
    flags = [f"-D{name}={value}" for name, value in settings.items()]
    for command in (
        ["cmake", "-G", "Ninja", "-S", str(PROJECT), "-B", str(folder), *flags],
        ["cmake", "--build", str(folder)],
    ):
        subprocess.run(command, check=True, env=environment)
    (module,) = folder.glob("_native*.so")
    return module


def run(module: Path, arguments: list[str]) -> int:
    """The tests of the kernels, with a build."""
    tests = PROJECT / "tests/kernels"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(tests)]
    environment = os.environ | ENVIRONMENT | {"LD_PRELOAD": " ".join(preloaded())}
    return subprocess.run(
        [*command, f"--native={module}", *arguments], cwd=ROOT, env=environment, check=False
    ).returncode


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--isas", default="portable,avx2", help="instruction sets to compile; default: %(default)s")
    parser.add_argument("--build", type=Path, help="where to build, so that the next run builds less")
    options, rest = parser.parse_known_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        return run(build(options.build or Path(folder), options.isas), rest)


if __name__ == "__main__":
    sys.exit(main())
