"""The packages of examples/ use what is covered, patch nothing, and touch nothing that is private to the core."""

from __future__ import annotations

import ast

import pytest
from covered import COVERED, Package, complaints
from workspace import ROOT

FOLDERS = sorted(path.parent for path in ROOT.glob("examples/*/pyproject.toml"))


def test_every_folder_is_looked_at():
    assert len(FOLDERS) >= 4
    for folder in FOLDERS:
        assert len(Package.read(folder).trees) >= 4, folder


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_an_example_uses_what_is_covered(folder):
    assert complaints(Package.read(folder)) == []


def test_what_is_covered_is_what_the_page_says():
    page = (ROOT / "docs/plugins/compatibility.md").read_text(encoding="utf-8")
    for module in COVERED:
        # the page calls the dataclasses of kernelet.config by their package, and a worker by its import string
        assert (
            f"`{module}`" in page
            or f"`{module}:" in page
            or module.startswith(("kernelet.config.", "kernelet.contracts."))
        ), module


WORKER = "from kernelet.worker import worker\nclass A(worker.ModelWorker):\n"
WRONG = {
    "from kernelet.cache.manager import X": "imports kernelet.cache.manager.X, which is not covered",
    "import kernelet.engine.llm": "imports kernelet.engine.llm, which is not covered",
    "from kernelet.config.env import variable": "imports kernelet.config.env.variable, which is not covered",
    "from kernelet.config import env": "imports kernelet.config.env, which is not covered",
    "from kernelet.testing.model import ModelSuite": "imports kernelet.testing.model.ModelSuite, which is not covered",
    "from kernelet.contracts.op import _hidden": "imports a private name: kernelet.contracts.op._hidden",
    "from kernelet import builtin": "imports kernelet.builtin, which is not covered",
    "import importlib\nimportlib.import_module('kernelet.worker.runner')": "imports kernelet.worker.runner, which is",
    "target = 'kernelet.layers.norm:Norm'": "names kernelet.layers.norm:Norm, which is not covered",
    "def f(context):\n    context.ops.rms_norm = None": "sets an attribute of something that is not its own",
    "from kernelet import LLM\nLLM.generate = None": "sets an attribute of something that is not its own",
    "from kernelet import LLM\nsetattr(LLM, 'generate', None)": "patches the core",
    "def test(monkeypatch):\n    monkeypatch.setattr('kernelet.errors.ConfigError', None)": "patches the core",
    "from kernelet import errors\ndef f(patch):\n    patch.setattr(errors, 'X', 1)": "patches the core",
    "from kernelet import LLM\nclass A:\n    x: int = 1\ndef f(llm: LLM):\n    llm.x = 1": "sets an attribute of",
    "from kernelet import LLM\nclass A:\n    x: int = 1\nllm = LLM()\nllm.x = 1": "sets an attribute of something",
    "def f(ops):\n    setattr(ops, 'add', None)": "sets an attribute of something that is not its own",
    "from kernelet.layers import ops\nops.TABLE['add'] = None": "changes an object of the core: ops.TABLE['add']",
    "class A:\n    def f(self, llm):\n        return llm._client": "uses a private attribute that it does not define",
    "class A:\n    def f(self):\n        del self.llm.frontend": "sets an attribute of something that is not its own",
    f"{WORKER}    def f(self):\n        return self._runner": "private attribute that it does not define: self._runner",
    f"{WORKER}    def _make_device(self): ...": "A replaces _make_device, which is private to kernelet.worker",
    f"{WORKER}    def f(self):\n        self._thread = 1": "A replaces _thread, which is private to kernelet.worker",
}


@pytest.mark.parametrize("source", WRONG)
def test_what_is_wrong_is_found(source, tmp_path):
    found = complaints(Package(tmp_path, {tmp_path / "src/wrong.py": ast.parse(source)}))
    assert len(found) == 1, found
    assert WRONG[source] in found[0]


RIGHT = """
import argparse

from kernelet import LLM, SamplingParams
from kernelet.config import EngineConfig
from kernelet.config.cache import CacheConfig
from kernelet.contracts import model
from kernelet.layers.context import ModelContext
from kernelet.worker.worker import ModelWorker

TARGET = "kernelet.worker.worker:ModelWorker"

class Mine(ModelWorker):
    def __init__(self, context):
        super().__init__(context)
        self._mine, self.open = {}, 1
        self._mine["a"] = TARGET

    def load_model(self):
        super().load_model()
        local = {}
        local["a"] = self._mine

class Own:
    prompt: str = ""

def change(one: Own, parser: argparse.ArgumentParser) -> None:
    one.prompt = "new"
    parser.description = "new"
"""


def test_what_is_right_is_not_found(tmp_path):
    assert complaints(Package(tmp_path, {tmp_path / "src/right.py": ast.parse(RIGHT)})) == []
    kit = ast.parse("from kernelet.testing.model import ModelSuite")
    for path in ("src/right/conformance.py", "tests/test_right.py"):
        assert complaints(Package(tmp_path, {tmp_path / path: kit})) == []
