"""Clients of others against a live server: litellm, LangChain's standard tests, lm-eval. Writes docs/clients.md.

Each has a virtual environment of its own, made once in the cache folder from clients.toml.

python benchmarks/serve/clients/run.py [--model smollm2-135m] [--clients litellm langchain lm-eval] [--write]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tomllib
import venv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from server_process import serving  # noqa: E402
from truth import accuracy, scores  # noqa: E402

NAME = "model"
CLOSE = 1e-3


@dataclass(frozen=True)
class Client:
    """A table of clients.toml."""

    name: str
    script: str
    requirements: Sequence[str]

    @property
    def folder(self) -> Path:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return cache / "kernelet" / "clients" / self.name

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def prepare(self) -> None:
        """Its environment, if it is not there."""
        if (self.folder / "done").exists():
            return
        venv.create(self.folder, with_pip=True, clear=True)
        environment = {name: value for name, value in os.environ.items() if name != "PIP_CONSTRAINT"}
        subprocess.run([self.python, "-m", "pip", "install", "-q", *self.requirements], env=environment, check=True)
        (self.folder / "done").touch()

    def versions(self) -> str:
        """Of what was asked for."""
        names = [one.partition("[")[0] for one in self.requirements]
        code = f"from importlib.metadata import version as v; print(', '.join(f'{{n}} {{v(n)}}' for n in {names}))"
        return subprocess.run([self.python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()

    def run(self, url: str, folder: Path) -> list[dict]:
        """What its script printed."""
        command = [self.python, HERE / self.script, url, NAME, folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE)
        if done.returncode:
            raise SystemExit(f"{self.name}:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def clients() -> dict[str, Client]:
    """All of clients.toml."""
    tables = tomllib.loads((HERE / "clients.toml").read_text(encoding="utf-8"))
    return {name: Client(name, **table) for name, table in tables.items()}


def lm_eval_checks(found: dict, model: str) -> list[dict]:
    """Its scores against those of the engine alone."""
    alone = scores(model)
    apart = max(abs(a - b) for name, mine in alone.items() for a, b in zip(mine, found["scores"][name], strict=True))
    same = apart < CLOSE and abs(found["accuracy"] - accuracy(alone)) < 1e-9
    accuracies = f"accuracy {found['accuracy']:.3f}, of the engine alone {accuracy(alone):.3f}"
    detail = f"{accuracies}; log-probabilities differ by {apart:.1e} at most"
    return [{"check": "facts", "result": "passed" if same else "failed", "detail": detail}]


def page(results: dict[str, tuple[str, list[dict]]], model: str) -> str:
    """docs/clients.md."""
    lines = [
        "# Clients",
        "",
        f"Other people's clients against `kernelet serve {model}`, by `benchmarks/serve/clients/run.py --write`.",
        "The official `openai` client is held by the test suite.",
        "",
        "| client | passed | failed | skipped |",
        "|---|---|---|---|",
    ]
    for versions, checks in results.values():
        count = Counter(one["result"] for one in checks)
        lines.append(f"| {versions} | {count['passed']} | {count['failed']} | {count['skipped']} |")
    for name, (_, checks) in results.items():
        lines += ["", f"## {name}", "", "| check | result | |", "|---|---|---|"]
        lines += [f"| `{one['check']}` | {one['result']} | {cell(one['detail'])} |" for one in checks]
    return "\n".join(lines) + "\n"


def cell(text: str) -> str:
    """Text in a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def main() -> int:
    known = clients()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--clients", nargs="+", choices=known, default=list(known))
    parser.add_argument("--write", action="store_true", help="docs/clients.md")
    options = parser.parse_args()
    from kernelet.engine.bootstrap import configure_engine
    from kernelet.engine.option_sources import resolve_options

    folder = Path(configure_engine(options.model, resolve_options({})).config.model.path)
    results: dict[str, tuple[str, list[dict]]] = {}
    for name in options.clients:
        known[name].prepare()
    with serving(options.model, ["--served-model-name", NAME]) as server:
        for name in options.clients:
            client = known[name]
            found = client.run(server.url, folder)
            checks = lm_eval_checks(found[-1], options.model) if name == "lm-eval" else found
            results[name] = client.versions(), checks
            for one in checks:
                print(
                    f"{name:10} {one['result']:8} {one['check']} {one['detail'] if one['result'] != 'passed' else ''}"
                )
    if options.write:
        (ROOT / "docs" / "clients.md").write_text(page(results, options.model), encoding="utf-8")
    return int(any(one["result"] == "failed" for _, checks in results.values() for one in checks))


if __name__ == "__main__":
    sys.exit(main())
