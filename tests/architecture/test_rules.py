"""Rules of the code base that a syntax tree or a search can tell."""

from __future__ import annotations

import ast
import re

from every import every
from workspace import core_modules, modules

NAMES_ANYWHERE = (
    "cuda|rocm|nvidia|gguf|llama|gemma|mistral|mixtral|qwen|deepseek|smollm|starcoder|olmo|gptq|flashinfer|flashattn|"
    "flash_attn|lmcache|nixl|mooncake|hf3fs|xgrammar|bitsandbytes|modelopt|prometheus|opentelemetry|medusa"
)
NAMES_AS_WORDS = "awq|hip|xpu|tpu|npu|mps|phi|neox|granite|falcon|triton|amd|intel|ray|otel|eagle|dflash|mamba"
VENDOR = re.compile(rf"({NAMES_ANYWHERE})|(?<![a-z])({NAMES_AS_WORDS})(?![a-z])", re.IGNORECASE)
# kinds of layer that the design lists; they are not the names of a model or a vendor
OPEN_KINDS = re.compile(r"mamba[12]")


@every(core_modules())
def test_core_names_no_vendor(module):
    lines = enumerate(OPEN_KINDS.sub("", module.text).splitlines(), start=1)
    bad = [f"line {number}: {match[0]}" for number, line in lines if (match := VENDOR.search(line))]
    assert not bad, f"{module} names a vendor, format or model: {bad}; ask capabilities, or let a plugin offer it"


@every(modules())
def test_environment_is_read_in_one_place(module):
    if module.name == "kernelet.config.env":
        return
    names = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"}
    bad = [
        node.lineno
        for node in ast.walk(module.tree)
        if (isinstance(node, ast.Attribute) and node.attr in names and ast.unparse(node.value) == "os")
        or (isinstance(node, ast.ImportFrom) and node.module == "os" and names & {alias.name for alias in node.names})
    ]
    assert not bad, f"{module}, lines {bad}: environment variables are read in kernelet.config.env only"


@every(core_modules())
def test_hooks_are_called_through_the_facade(module):
    if module.name == "kernelet.kernel.hooks":
        return
    bad = [node.lineno for node in ast.walk(module.tree) if isinstance(node, ast.Attribute) and node.attr == "hook"]
    assert not bad, f"{module}, lines {bad}: only kernel/hooks.py touches the untyped hook object"


@every(modules())
def test_no_registries_or_globals(module):
    """Nothing at module level waits to be filled: two engines of one process may have different plugins."""
    containers = {"dict", "list", "set", "defaultdict", "OrderedDict", "Counter", "deque", "WeakValueDictionary"}

    def waits(value):
        if isinstance(value, ast.Dict):
            return not value.keys
        if isinstance(value, ast.List | ast.Set):
            return not value.elts
        called = value.func if isinstance(value, ast.Call) else None
        return isinstance(called, ast.Name) and called.id in containers and not value.args

    bad = [
        node.lineno
        for node in module.tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and waits(node.value)
    ]
    bad += [node.lineno for node in ast.walk(module.tree) if isinstance(node, ast.Global)]
    assert not bad, f"{module}, lines {bad}: state belongs to an object, not to a module"
