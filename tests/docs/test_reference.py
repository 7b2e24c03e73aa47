"""Every hook stands in the reference with its exact signature, and every interface in the reference of its domain."""

from __future__ import annotations

import importlib
import inspect
import re

import pytest
from workspace import ROOT

from kernelet.contracts.versions import API_VERSIONS
from kernelet.hookspecs import DOMAINS

HOOKS = [
    pytest.param(function, id=name)
    for domain in DOMAINS
    for name, function in inspect.getmembers(importlib.import_module(f"kernelet.hookspecs.{domain}"))
    if name.startswith("kernelet_")
]


def test_every_domain_has_hooks_a_version_and_pages():
    assert set(DOMAINS) == set(API_VERSIONS)
    assert len(HOOKS) >= 21
    for domain in DOMAINS:
        assert (ROOT / f"docs/reference/contracts/{domain}.md").is_file()


@pytest.mark.parametrize("function", HOOKS)
def test_the_exact_signature_is_there(function):
    page = (ROOT / "docs/reference/hooks.md").read_text(encoding="utf-8")
    parameters = inspect.signature(function)
    text = str(parameters).replace("'", "")  # annotations are texts
    assert f"\ndef {function.__name__}{text}: ...\n" in page
    assert f"\n### `{function.__name__}`\n" in page


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_class_and_method_is_there(domain):
    page = (ROOT / f"docs/reference/contracts/{domain}.md").read_text(encoding="utf-8")
    module = importlib.import_module(f"kernelet.contracts.{domain}")
    for name, found in inspect.getmembers(module, inspect.isclass):
        if found.__module__ == module.__name__:
            assert f"\nclass {name}" in page
            for method in getattr(found, "__abstractmethods__", ()):
                assert re.search(rf"^    (async )?def {method}\(", page, re.MULTILINE), f"{name}.{method}"
