"""``kernelet collect-env``: what a report of a problem needs to say about a machine, and nothing secret."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.utils import canonicalize_name

from kernelet.cli.output import print_json
from kernelet.cli.plugin_options import add_plugin_options, given
from kernelet.cli.print_config import SECRET
from kernelet.config import env
from kernelet.config.host_memory import available_memory

if TYPE_CHECKING:
    import argparse

TORCH = "import torch; print(torch.__config__.show())"
TORCH_SECONDS = 120.0

VARIABLES = re.compile(r"(KERNELET|OMP|MKL|OPENBLAS|KMP|GOMP|TORCH|PYTORCH|MALLOC|HF|CUBLAS)_|LD_PRELOAD$")
"""Names of variables that change how models run."""

LIMITS = ("cpu.max", "cpuset.cpus.effective", "memory.max", "memory.high", "memory.swap.max", "pids.max")
"""Files of a control group, version 2."""

LIMITS_V1 = ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us", "cpuset/cpuset.cpus", "memory/memory.limit_in_bytes")

HIDDEN = "***"

CREDENTIALS = re.compile(r"://[^/@\s]+@")
"""In an address."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument("--json", action="store_true", help="one object")
    parser.add_argument("--no-torch", action="store_true", help="do not import torch to see how it was built")
    add_plugin_options(parser, locked=False)


def run(options: argparse.Namespace) -> int:
    """Collects and prints."""
    found = {
        "system": system(),
        "processor": processor(),
        "limits": limits(),
        "packages": packages(),
        "torch": {} if options.no_torch else torch_build(),
        "plugins": plugins(options),
        "variables": variables(env.all_variables()),
    }
    if options.json:
        print_json(found)
    else:
        print_sections(found)
    return 0


def system() -> dict[str, object]:
    """Kernelet, Python, operating system."""
    return {
        "kernelet-core": metadata.version("kernelet-core"),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "executable": sys.executable,
        "system": platform.platform(),
        "libc": " ".join(platform.libc_ver()).strip(),
    }


def processor(proc: Path = Path("/proc")) -> dict[str, object]:
    """What it is called, how many there are, and what it can."""
    fields: dict[str, str] = {}
    for line in read(proc / "cpuinfo").splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "model": fields.get("model name") or platform.processor() or platform.machine(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "usable cores": usable,
        "flags": fields.get("flags") or fields.get("Features", ""),
    }


def limits(proc: Path = Path("/proc"), cgroup: Path = Path("/sys/fs/cgroup")) -> dict[str, object]:
    """What control groups and resource limits leave. In a container, the root of the mount is our group."""
    memory = available_memory()
    found: dict[str, object] = {"available memory": f"{memory.bytes} bytes ({memory.source})"}
    path = next((one[3:] for one in read(proc / "self/cgroup").splitlines() if one.startswith("0::")), "/")
    own = cgroup / path.strip("/")
    for name in (*LIMITS, *LIMITS_V1):
        if text := (read(own / name) or read(cgroup / name)).strip():
            found[name] = text
    return found


def packages() -> dict[str, object]:
    """Versions of ours, of what the core requires, and of torch."""
    required = (re.match(r"[\w.-]+", one) for one in metadata.requires("kernelet-core") or () if "extra ==" not in one)
    names = {canonicalize_name(match[0]) for match in required if match} | {"torch"}
    found = {}
    for distribution in metadata.distributions():
        name = canonicalize_name(distribution.metadata["Name"] or "")
        if name in names or name.startswith("kernelet-"):
            found[name] = distribution.version
    return dict(sorted(found.items()))


def torch_build() -> dict[str, object]:
    """How torch was built; asked in a process of its own, for the core does not import it."""
    try:
        child = subprocess.run(
            [sys.executable, "-P", "-c", TORCH],
            capture_output=True,
            text=True,
            timeout=TORCH_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return {"build": f"its import took more than {TORCH_SECONDS:g} s"}
    said = child.stdout if child.returncode == 0 else child.stderr
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return {"build": lines if child.returncode == 0 else (lines or ["?"])[-1]}


def plugins(options: argparse.Namespace) -> dict[str, object]:
    """Each plugin, its state, and why."""
    from kernelet.contracts.lifecycle import ProcessRole
    from kernelet.engine.bootstrap import plugins_config
    from kernelet.kernel import Kernel

    wanted = given(options, locked=False)
    imports = tuple(one for one in wanted.plugins or () if ":" in one)
    kernel = Kernel.boot(plugins_config(wanted), role=ProcessRole.FRONTEND, plugins=imports, report_only=True)
    kernel.probe_platforms()
    return {
        report.name: " ".join(filter(None, (str(report.state), report.distribution, report.version, report.reason)))
        for report in kernel.reports
    }


def variables(environ: Mapping[str, str]) -> dict[str, object]:
    """Those that change how models run; values that may be secrets are not shown."""
    return {name: shown(name, value) for name, value in sorted(environ.items()) if VARIABLES.match(name)}


def shown(name: str, value: str) -> str:
    """A variable's value; settings of plugins one by one."""
    if name == "KERNELET_SET":
        pairs = [one.partition("=") for one in value.split(";")]
        return ";".join(f"{key}={HIDDEN if SECRET.search(key) else text}" for key, _, text in pairs)
    return HIDDEN if SECRET.search(name) else CREDENTIALS.sub(f"://{HIDDEN}@", value)


def read(path: Path) -> str:
    """A file's text; empty where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def print_sections(found: Mapping[str, Mapping[str, Any]]) -> None:
    """For people, and for a report of a problem."""
    for section, rows in found.items():
        print(f"## {section}")
        for name, value in rows.items():
            lines = value if isinstance(value, list) else [value]
            print(f"{name}: {lines[0] if lines else ''}")
            for line in lines[1:]:
                print(f"  {line}")
        print()
