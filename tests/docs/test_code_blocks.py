"""Every code block is valid, and every plugin in the documentation loads and implements its contract."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import tomllib

import pytest
import yaml
from doc_examples import blocks
from workspace import ROOT

from kernelet.contracts.attention import Attention
from kernelet.contracts.cache import EvictionPolicy, GroupManager
from kernelet.contracts.executor import Communicator, Executor, SchedulingPolicy
from kernelet.contracts.io import IOProcessor
from kernelet.contracts.kv import SchedulerSide, WorkerSide
from kernelet.contracts.model import ModelSource, WeightReader
from kernelet.contracts.op import WeightKernel
from kernelet.contracts.platform import Device, PlatformConfig
from kernelet.contracts.sampling import LogitsProcessor
from kernelet.contracts.serving import Endpoint, Server
from kernelet.contracts.stats import StatLogger
from kernelet.contracts.structured import GrammarEngine
from kernelet.kernel.kinds import KINDS
from kernelet.kernel.offers import IMPORT_STRINGS

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("packages/*/README.md")])
BLOCKS = [block for page in PAGES for block in blocks(page)]
HOW_TO = (
    "attention",
    "cache",
    "executor",
    "io",
    "kv",
    "life-cycle",
    "model",
    "op",
    "parsing",
    "platform",
    "quant",
    "sampling",
    "serving",
    "stats",
    "structured",
)
INTERFACES = (
    Attention,
    Communicator,
    Device,
    Endpoint,
    EvictionPolicy,
    Executor,
    GrammarEngine,
    GroupManager,
    IOProcessor,
    LogitsProcessor,
    ModelSource,
    PlatformConfig,
    SchedulingPolicy,
    SchedulerSide,
    Server,
    StatLogger,
    WeightKernel,
    WeightReader,
    WorkerSide,
)
PARSERS = {
    "python": lambda text: compile(text, "<block>", "exec", dont_inherit=True),
    "toml": tomllib.loads,
    "yaml": lambda text: list(yaml.safe_load_all(text)),
}


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language in PARSERS], ids=str)
def test_block_is_valid(block):
    PARSERS[block.language](block.text)


def test_languages_are_known():
    assert {block.language for block in BLOCKS} <= {*PARSERS, "mermaid", "text"}


@pytest.mark.parametrize("name", HOW_TO)
def test_the_example_implements_its_contract(name, example):
    plugin = example(name)
    kernel = plugin.boot()
    mine = [owned for kind in KINDS for owned in kernel.offers(kind.offer) if owned.plugin == plugin.name]
    for owned in mine:
        for field in IMPORT_STRINGS:
            target = getattr(owned.offer, field, "")
            if target:
                check(kernel.load(owned, target))
    report = next(report for report in kernel.reports if report.name == plugin.name)
    assert report.state in {"active", "blocked"}, report.reason
    assert len(report.offers) == plugin.num_offers


def check(found):
    """A class of a contract can be made, and overrides members as they are declared."""
    assert callable(found)
    if not isinstance(found, type):
        return
    assert not inspect.isabstract(found)
    (interface,) = [one for one in INTERFACES if issubclass(found, one)] or [None]
    for name, member in vars(found).items():
        declared = getattr(interface, name, None)
        if inspect.isroutine(member) and inspect.isroutine(declared) and name != "__init__":
            mine = inspect.signature(getattr(found, name)).parameters
            assert list(inspect.signature(declared).parameters) == list(mine)


@pytest.mark.parametrize("name", HOW_TO)
def test_modules_follow_the_import_rules(name, example):
    """plugin.py imports hookspecs, contracts and its own package only."""
    import ast

    plugin = example(name)
    tree = ast.parse((plugin.folder / "plugin.py").read_text())
    imported = [node.module for node in tree.body if isinstance(node, ast.ImportFrom)]
    allowed = ("__future__", "collections.abc", "types", "typing", "kernelet.contracts", "kernelet.hookspecs")
    assert not [one for one in imported if not one.startswith((*allowed, plugin.folder.name))]


def test_every_hook_has_an_example():
    """But for those that a page describes in words."""
    text = "".join((ROOT / f"docs/plugins/{name}.md").read_text(encoding="utf-8") for name in HOW_TO)
    text += (ROOT / "docs/life-of-a-plugin.md").read_text(encoding="utf-8")
    from reference_pages import hook_nodes, hookspec_module

    from kernelet.hookspecs import DOMAINS

    hooks = [node.name for domain in DOMAINS for node in hook_nodes(hookspec_module(domain))]
    assert len(hooks) > 20
    described = {"kernelet_process_stopped", "kernelet_engine_started", "kernelet_engine_stopped"}
    assert not [hook for hook in hooks if f"def {hook}(" not in text and hook not in described]
    assert all(hook in text for hook in described)


@pytest.mark.parametrize("name", HOW_TO)
def test_offers_are_equal_when_asked_twice(name, example):
    module = importlib.import_module(example(name).module)
    for hook, function in inspect.getmembers(module, inspect.isfunction):
        if hook.startswith("kernelet_") and not inspect.signature(function).parameters:
            first, second = function(), function()
            assert first == second
            assert is_plain(first) or hook in {"kernelet_hookspecs", "kernelet_greetings"}


def is_plain(value):
    """Frozen data, or a sequence of it."""
    return all(dataclasses.is_dataclass(one) for one in as_list(value))


def as_list(value):
    return list(value) if isinstance(value, list | tuple) else [value]
