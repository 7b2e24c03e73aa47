"""The documentation says what the code does: every hook is there, every example works, every link leads somewhere."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from workspace import ROOT, core_modules

WHERE = ("*.md", "docs/**/*.md", "packages/*/README.md", "examples/**/README.md")
PAGES = sorted(page for pattern in WHERE for page in ROOT.glob(pattern))
LINK = re.compile(r"(?<!!)\[[^\]]+\]\((?!https?://|#)([^)#]+)")


def hooks():
    found = {}
    for module in core_modules():
        if module.layer == "hookspecs":
            for node in module.tree.body:
                if isinstance(node, ast.FunctionDef) and node.name.startswith("kernelet_"):
                    found[node.name] = ", ".join(argument.arg for argument in node.args.args)
    return found


def test_every_hook_is_listed_with_its_parameters():
    page = (ROOT / "docs/microkernel.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`(kernelet_\w+\([^)]*\))`", page)) == {f"{name}({args})" for name, args in hooks().items()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links(page):
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    assert not [target for target in targets if not (page.parent / target).exists()]


@pytest.fixture
def example(tmp_path, monkeypatch):
    """The modules of docs/life-of-a-plugin.md, as a package."""
    blocks = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs/life-of-a-plugin.md").read_text(encoding="utf-8"), re.DOTALL
    )
    package = tmp_path / "kernelet_model_example"
    package.mkdir()
    (package / "plugin.py").write_text(blocks[0], encoding="utf-8")
    (package / "source.py").write_text(blocks[1], encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield package
    for name in [name for name in sys.modules if name.startswith("kernelet_model_example")]:
        del sys.modules[name]


def test_the_example_plugin_works(example, tmp_path):
    from kernelet.contracts.model import ModelSource
    from kernelet.contracts.offer import Settings
    from kernelet.errors import ModelNotFoundError

    plugin = importlib.import_module("kernelet_model_example.plugin")
    known = hooks()
    implemented = {name: function for name, function in vars(plugin).items() if name.startswith("kernelet_")}
    assert implemented
    for name, function in implemented.items():
        assert ", ".join(inspect.signature(function).parameters) == known[name]
    (offer,) = plugin.kernelet_model_sources()
    module, _, name = offer.target.partition(":")
    source_class = getattr(importlib.import_module(module), name)
    assert issubclass(source_class, ModelSource)
    (tmp_path / "example-1b").mkdir()
    assert set(plugin.kernelet_options().schema) == {"folder"}
    source = source_class(Settings(plugin="model-example", values={"folder": str(tmp_path)}))
    assert source.resolve("example-1b") == tmp_path / "example-1b"
    with pytest.raises(ModelNotFoundError, match=r"--set model-example\.folder"):
        source.resolve("other")


def test_the_site_builds(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert Path(tmp_path / "life-of-a-plugin/index.html").is_file()
