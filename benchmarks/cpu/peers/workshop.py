"""The cache folder: a virtual environment an engine, and the checkpoint in the form that it reads."""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from peers.engine import Launch
from peers.progress import PrepareError, Step, steps

HERE = Path(__file__).parent
ENGINES = HERE.parent / "engines"
OURS = "kernelet"
CHART = "chart"


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A table of peers.toml."""

    script: str = ""
    requirements: Sequence[str] = ()
    remove: Sequence[str] = ()
    precisions: Sequence[str] = ("bf16", "int8")
    source: str = ""
    checkpoints: dict[str, list[str]] = field(default_factory=dict)
    suffix: str = ""
    shared: dict[str, str] = field(default_factory=dict)


def recipes() -> dict[str, Recipe]:
    """All of peers.toml."""
    tables = tomllib.loads((HERE / "peers.toml").read_text(encoding="utf-8"))
    return {name: Recipe(**table) for name, table in tables.items()}


def engines() -> tuple[str, ...]:
    """Names of all engines, ours first."""
    return tuple(name for name, recipe in recipes().items() if recipe.script)


def default_cache() -> Path:
    """Beside the models of Kernelet."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kernelet" / "benchmarks"


class Workshop:
    """The cache folder."""

    def __init__(self, folder: Path, model: Path) -> None:
        self.folder = folder
        self.model = model
        self.recipes = recipes()

    def python(self, name: str) -> Path:
        """The interpreter of an engine's environment, of Kernelet's the one that runs this.

        Raises:
            PrepareError: it is not there yet.
        """
        if name == OURS:
            return Path(sys.executable)
        folder = self.environment(name)
        if not (folder / "done").exists():
            raise PrepareError(f"not prepared: run benchmarks/cpu/prepare.py --engines {name}")
        return folder / "bin" / "python"

    def environment(self, name: str) -> Path:
        """Where an engine's environment is: another one when its requirements change."""
        return self.folder / f"{name}-{digest(*self.recipes[name].requirements, *self.recipes[name].remove)}"

    def checkpoint(self, name: str, precision: str) -> Path:
        """The model as an engine reads it.

        Raises:
            PrepareError: it is not there yet, or the engine has no such weights.
        """
        recipe = self.recipes[name]
        if precision in recipe.shared:
            return self.checkpoint(recipe.shared[precision], precision)
        if precision not in recipe.precisions:
            raise PrepareError(f"no {precision} weights")
        path = self._checkpoint_path(name, precision)
        if not path.exists():
            raise PrepareError(f"no checkpoint: run benchmarks/cpu/prepare.py --engines {name}")
        return path

    def launch(self, name: str, precision: str, threads: int) -> Launch:
        """How to start an engine.

        Raises:
            PrepareError: it was not prepared, or has no such weights.
        """
        model = self.checkpoint(name, precision)
        return Launch(
            name=name,
            python=str(self.python(name)),
            script=ENGINES / self.recipes[name].script,
            options={"model": str(model), "precision": precision, "threads": threads},
        )

    def prepare(self, name: str, step: Step) -> None:
        """Installs an engine and makes its checkpoints, unless that is done.

        Raises:
            PrepareError: a command failed.
        """
        recipe = self.recipes[name]
        self._install(name, recipe, step)
        for other in recipe.shared.values():
            self.prepare(other, step)
        for precision in recipe.checkpoints:
            path = self._checkpoint_path(name, precision)
            if path.exists():
                continue
            unfinished = path.with_name(f"unfinished-{path.name}")
            remove(unfinished)
            self.folder.mkdir(parents=True, exist_ok=True)
            step.run(f"converting to {precision}", self._fill(name, recipe.checkpoints[precision], unfinished, step))
            unfinished.rename(path)

    def _install(self, name: str, recipe: Recipe, step: Step) -> None:
        folder = self.environment(name)
        if not recipe.requirements or (folder / "done").exists():
            return
        remove(folder)
        venv.create(folder, with_pip=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--progress-bar=off"]
        step.run("installing", [*pip, *recipe.requirements])
        if recipe.remove:
            step.run("removing", [*pip[:3], "uninstall", "--yes", *recipe.remove])
        (folder / "done").touch()

    def _checkpoint_path(self, name: str, precision: str) -> Path:
        recipe = self.recipes[name]
        if precision not in recipe.checkpoints:
            return self.model
        sizes = [f"{path.name} {path.stat().st_size}" for path in sorted(self.model.iterdir()) if path.is_file()]
        return self.folder / f"{name}-{precision}-{digest(*sizes, *recipe.checkpoints[precision])}{recipe.suffix}"

    def _fill(self, name: str, command: list[str], out: Path, step: Step) -> list[str]:
        """The command with its placeholders filled in."""
        words = {
            "here": str(HERE),
            "model": str(self.model),
            "out": str(out),
            "bin": str(self.environment(name) / "bin"),
        }
        pythons = {f"{{python:{other}}}": other for other in self.recipes}
        filled = []
        for part in command:
            if part in pythons:
                self._install(pythons[part], self.recipes[pythons[part]], step)
                filled.append(str(self.python(pythons[part])))
            elif "{source}" in part:
                filled.append(part.replace("{source}", str(self._source(name, step))))
            else:
                filled.append(part.format(**words))
        return filled

    def _source(self, name: str, step: Step) -> Path:
        """The unpacked sdist."""
        folder = self.folder / f"{name}-source-{digest(self.recipes[name].source)}"
        if not folder.exists():
            unfinished = folder.with_name(f"unfinished-{folder.name}")
            remove(unfinished)
            source = self.recipes[name].source
            pip = [str(self.python(name)), "-m", "pip", "download", "--no-deps", f"--no-binary={source.split('==')[0]}"]
            step.run("source", [*pip, f"--dest={unfinished}", source])
            (archive,) = unfinished.glob("*.tar.gz")
            with tarfile.open(archive) as tar:
                tar.extractall(unfinished, filter="data")
            unfinished.rename(folder)
        (root,) = (path for path in folder.iterdir() if path.is_dir())
        return root


def digest(*parts: str) -> str:
    """Short enough for a folder's name."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def remove(path: Path) -> None:
    """A file or a folder, if it is there."""
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


def prepare_all(workshop: Workshop, names: list[str]) -> dict[str, str]:
    """Prepares engines one after the other; returns why others are missing."""
    missing = {}
    with steps(names) as tasks:
        for name, step in tasks:
            try:
                workshop.prepare(name, step)
                step.finish("ready")
            except PrepareError as error:
                missing[name] = str(error)
                step.finish(f"missing: {error}")
    return missing


def model_folder(model: str) -> Path:
    """The checkpoint of a model by name or folder; a known one is fetched."""
    command = [sys.executable, "-m", "kernelet.cli", "model", "path", model]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    return Path(done.stdout.strip())


def chosen(text: str | None, choices: tuple[str, ...], flag: str) -> list[str]:
    """The names of a comma-separated list, in the order of the choices; all without one."""
    names = list(choices) if text is None else text.split(",")
    if unknown := [name for name in names if name not in choices]:
        sys.exit(f"error: {flag} {','.join(unknown)}: choose from {', '.join(choices)}")
    return [name for name in choices if name in names]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Those that all scripts here share."""
    names = ", ".join(engines())
    parser.add_argument("--engines", metavar="NAMES", help=f"comma-separated, of {names} (default: all)")
    parser.add_argument("--model", default="smollm2-135m", help="name or folder (default: %(default)s)")
    about = "environments and checkpoints (default: %(default)s)"
    parser.add_argument("--cache", type=Path, default=default_cache(), metavar="FOLDER", help=about)
