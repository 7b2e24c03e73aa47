"""What our distributions need, and what that needs in turn, holds nothing of CUDA where torch is one for CPUs."""

from __future__ import annotations

import importlib.metadata
import re

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from workspace import distributions

OF_CUDA = re.compile(r"nvidia-.*|cuda-.*|cupy.*|.*-cu1\d")
OF_THE_DRIVER = {"nvidia-ml-py"}
"""A file of Python that asks the driver which devices there are, if there is one."""
OWN_CONSENT = {"kv-nixl"}
"""Distributions whose library is itself one of a vendor; nobody gets them without asking for them by name."""


def needed(name: str, extras: frozenset[str], seen: dict[str, str], path: str) -> dict[str, str]:
    """Every distribution below one, with the way there; as pip would take them in this environment."""
    try:
        lines = importlib.metadata.requires(name) or []
    except importlib.metadata.PackageNotFoundError:
        return seen
    for requirement in map(Requirement, lines):
        marker = requirement.marker
        if marker and not any(marker.evaluate({"extra": extra}) for extra in extras or {""}):
            continue
        below = canonicalize_name(requirement.name)
        if below not in seen:
            seen[below] = f"{path} > {below}"
            needed(below, frozenset(requirement.extras), seen, seen[below])
    return seen


@pytest.mark.parametrize(
    "distribution", [one for one in distributions() if one.name not in OWN_CONSENT], ids=lambda one: one.name
)
def test_nothing_of_cuda_is_pulled(distribution):
    name = f"kernelet-{distribution.name}"
    below = {}
    for line in distribution.metadata.get("dependencies", ()):
        requirement = Requirement(line)
        below[canonicalize_name(requirement.name)] = f"{name} > {requirement.name}"
        needed(requirement.name, frozenset(requirement.extras), below, f"{name} > {requirement.name}")
    assert not {path for one, path in below.items() if OF_CUDA.fullmatch(one) and one not in OF_THE_DRIVER}


def test_it_would_be_seen(monkeypatch):
    tree = {"a": ["b[c]>1"], "b": ["nvidia-x; extra == 'c'", "nvidia-y; extra == 'd'"], "nvidia-x": None}
    monkeypatch.setattr(importlib.metadata, "requires", tree.__getitem__)
    assert [one for one in needed("a", frozenset(), {}, "a") if OF_CUDA.fullmatch(one)] == ["nvidia-x"]
