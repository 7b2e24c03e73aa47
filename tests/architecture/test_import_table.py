"""Imports point down only. An import for annotations alone does not count; one inside a function does."""

from __future__ import annotations

import sys

import pytest
from every import every
from packaging.requirements import Requirement
from workspace import brought, core_modules, distributions, modules

BASE = {"contracts", "config", "errors"}
PLANES = {"scheduler", "executor", "structured", "text", "cache", "request"} | BASE
TABLE = {
    "errors": set(),
    "config": {"errors"},
    "contracts": {"config", "errors"},
    "hookspecs": set(),
    "builtin": {"hookspecs", "contracts"},
    "kernel": {"hookspecs"} | BASE,
    "request": BASE,
    "cache": {"request"} | BASE,
    "scheduler": {"cache", "request"} | BASE,
    "executor": {"cache", "request"} | BASE,
    "structured": {"cache", "request"} | BASE,
    "text": {"cache", "request"} | BASE,
    "engine": PLANES,
    "loading": BASE,
    "layers": BASE,
    "sampling": BASE,
    "worker": {"sampling", "layers", "loading"} | BASE,
    "serve": PLANES | {"engine"},
    "cli": PLANES | {"engine", "serve", "kernel"},
    "testing": PLANES | {"engine", "serve", "kernel", "hookspecs", "worker", "sampling", "layers", "loading"},
}
KERNEL_USERS = {
    "kernelet.engine.bootstrap",
    "kernelet.engine.sandbox.child",
    "kernelet.executor.multiprocess.process",
}
CORE_IMPORTS = {"msgspec", "packaging"}
"""What is loaded when the core has registered."""
PLUGINS_MAY_USE = BASE | {"hookspecs", "request", "text", "layers", "loading", "sampling", "worker"}
TORCH_LAYERS = {"worker", "sampling", "layers", "loading"}
TORCH_SUITES = {
    "tensors",
    "tiny",
    "attention",
    "weight_kernel",
    "op",
    "model",
    "weight_format",
    "quantization",
    "quantizer",
    "logits_processor",
    "communicator",
    "kv_connector",
}


def uses(module, package="kernelet"):
    """(layer, line) of each import from a package that is there at run time."""
    for item in module.imports:
        parts = item.name.split(".")
        if parts[0] == package and len(parts) > 1 and not item.annotations_only:
            yield parts[1], item.line


@every([m for m in core_modules() if m.layer])
def test_core_imports_point_down(module):
    assert module.layer in TABLE, f"{module}: kernelet.{module.layer} is not in the table: decide where it belongs"
    allowed = TABLE[module.layer] | {module.layer, "__version__"}
    if module.name in KERNEL_USERS:
        allowed |= {"kernel"}
    bad = [f"line {line}: kernelet.{layer}" for layer, line in uses(module) if layer not in allowed]
    assert not bad, f"{module} may import {sorted(allowed)}, but has {bad}"


@every([m for m in modules() if m.distribution.name != "core"])
def test_plugins_use_the_contracts_and_the_torch_folders_only(module):
    special = {"plugin.py": {"hookspecs", "contracts"}, "conformance.py": PLUGINS_MAY_USE | {"testing"}}
    allowed = special.get(module.path.name, PLUGINS_MAY_USE)
    bad = [f"line {line}: kernelet.{layer}" for layer, line in uses(module) if layer not in allowed]
    assert not bad, f"{module} may import {sorted(allowed)} of kernelet, but has {bad}"


@every([m for m in modules() if m.path.name == "plugin.py"])
def test_registration_is_data(module):
    """It may build on data of packages that it requires; none of it imports what the core's registration does not."""
    required = {Requirement(line).name for line in module.distribution.metadata["dependencies"]}
    bases = {one.package for one in distributions() if one.metadata["name"] in required}
    known = {"kernelet", module.distribution.package, *bases, *CORE_IMPORTS} | sys.stdlib_module_names
    for one in (module, *(other for other in brought(module) if other.distribution.name != "core")):
        bad = [f"line {item.line}: {item.name}" for item in one.imports if item.name.split(".")[0] not in known]
        assert not bad, f"{module} names its implementations by string; {one} imports {bad}"


@every(core_modules())
def test_torch_stays_in_four_folders(module):
    if module.layer in TORCH_LAYERS:
        return
    # the suite of a domain that holds tensors needs torch; others may compare them, but are imported without
    lazily = module.layer == "testing"
    if lazily and module.name.split(".")[2:3] and module.name.split(".")[2] in TORCH_SUITES:
        return
    bad = [
        item.line
        for item in module.imports
        if item.name.split(".")[0] == "torch" and not item.annotations_only and not (lazily and item.in_function)
    ]
    assert not bad, f"{module}, lines {bad}: torch may be imported in {sorted(TORCH_LAYERS)} only"


@pytest.mark.parametrize("distribution", distributions(), ids=lambda d: d.name)
def test_what_is_imported_is_declared(distribution):
    """Every third-party import is a requirement of the distribution (or of one of its extras)."""
    from importlib.metadata import packages_distributions

    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    extras = distribution.metadata.get("optional-dependencies", {}).values()
    stated = [*distribution.metadata["dependencies"], *(text for texts in extras for text in texts)]
    declared = {canonicalize_name(Requirement(text).name) for text in stated} | {f"kernelet-{distribution.name}"}
    providers = packages_distributions() | {d.package: [f"kernelet-{d.name}"] for d in distributions()}
    bad = []
    for module in distribution.modules:
        for item in module.imports:
            top = item.name.split(".")[0]
            if item.annotations_only or top in sys.stdlib_module_names:
                continue
            if top == "torch":  # whoever has no torch of its own gets the one of the platform
                continue
            if not {canonicalize_name(name) for name in providers.get(top, [top])} & declared:
                bad.append(f"{module}:{item.line}: {item.name}")
    assert not bad, f"not in the dependencies of kernelet-{distribution.name}: {bad}"
