"""docs/from-vllm.md names things of ours that exist, or says with which domain they come."""

from __future__ import annotations

import json
import re

import pytest
from workspace import ROOT

import kernelet
from kernelet.contracts.versions import API_VERSIONS
from kernelet.engine.options import OPTIONS
from kernelet.serve.options import SERVE_OPTIONS

PAGE = (ROOT / "docs/from-vllm.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| vLLM |")
]
LATER = {"adapter", "graph", "io", "kv", "quant", "serving", "spec_decode", "structured"}

SURFACE = json.loads((ROOT / "docs/reference/api.json").read_text(encoding="utf-8"))["domains"].values()
HOOKS = {name for domain in SURFACE for name in domain["hooks"]}
CLASSES = {name: found for domain in SURFACE for name, found in domain["classes"].items()}
FLAGS = {spec.flag for spec in (*OPTIONS, *SERVE_OPTIONS)}


def exists(name: str) -> bool:
    if name.startswith("kernelet_"):
        return name in HOOKS
    if name.startswith("--"):
        return name in FLAGS
    owner, _, member = name.partition(".")
    if owner not in CLASSES:
        return owner in kernelet.__all__
    return not member or member in members(owner)


def members(owner: str) -> set[str]:
    found = CLASSES[owner]
    own = set(found.get("fields", {})) | set(found.get("members", {}))
    return own.union(*(members(base) for base in found["bases"] if base in CLASSES))


def names(cell: str) -> list[str]:
    """What looks like a name of ours: a hook, a flag, a class or a member of one."""
    quoted = re.findall(r"`([^`]+)`", cell)
    return [
        one
        for one in quoted
        if re.fullmatch(r"kernelet_\w+|--[a-z-]+|[A-Z][a-z]\w*(\.\w+)?|[A-Z]{2}[A-Z]?[A-Za-z]*", one)
    ]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:40])
def test_row(row):
    vllm, ours, _, state = row
    assert vllm
    assert re.match(r"(now|no|with)\b", state), state
    assert ours or not state.startswith("now"), "says now, and names nothing"
    for domain in re.findall(r"with `(\w+)`", state):
        assert domain in LATER - API_VERSIONS.keys(), f"{domain} is here, or is no domain"
    if state == "now":
        assert not [one for one in names(ours) if not exists(one)]
    if state.startswith("with"):
        assert not [one for one in names(ours) if one.startswith("kernelet_") and one in HOOKS], "it is here now"


def test_every_hook_of_ours_is_somebodys_counterpart():
    beside = {"kernelet_engine_started", "kernelet_engine_stopped", "kernelet_process_stopped", "kernelet_hookspecs"}
    beside |= {"kernelet_communicators"}  # by PlatformOffer.communicator
    assert HOOKS - beside <= set(re.findall(r"kernelet_\w+", PAGE))
