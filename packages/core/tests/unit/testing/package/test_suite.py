from __future__ import annotations

from dataclasses import replace

import pytest
from kit import run_suites

from kernelet.testing.package.faults import GOOD, PACKAGE, suite_of
from kernelet.testing.package.suite import PLUGIN_NAME, RELATION, domain_of, stated
from kernelet.testing.planter import PlantedDistribution, plant


def test_a_good_package_passes(tmp_path):
    listener = run_suites([suite_of(GOOD)], tmp_path)
    assert not listener.messages
    assert listener.passed == {0: 16}


BASE = PlantedDistribution(
    name="acme-base",
    files={
        "acme_base/__init__.py": "",
        "acme_base/shared.py": 'SUMMARY = "The calmest first"\n',
        "acme_heavy.py": "",
        "acme_base/heavy.py": 'import acme_heavy\n\nSUMMARY = "The calmest first"\n',
    },
    entry_points={},
)


@pytest.mark.parametrize(
    "module, says", [("shared", []), ("heavy", ["plain data of kernelet packages that it requires, not acme_heavy"])]
)
def test_registration_may_build_on_data_of_what_it_requires(module, says, tmp_path, monkeypatch):
    plugin = GOOD.files[f"{PACKAGE}/plugin.py"].replace('"The calmest first"', "SUMMARY")
    plugin = plugin.replace("\nTARGET", f"from acme_base.{module} import SUMMARY\n\nTARGET")
    plant(tmp_path / "base", BASE)
    monkeypatch.syspath_prepend(str(tmp_path / "base"))
    files = {**GOOD.files, f"{PACKAGE}/plugin.py": plugin}
    package = replace(GOOD, files=files, requires=("kernelet-core>=0.1", "acme-base>=1"))
    listener = run_suites([suite_of(package)], tmp_path, "-k", "nothing")
    messages = listener.messages.get(0, [])
    assert len(messages) == len(says)
    assert all(one in message for one, message in zip(says, messages, strict=True))


@pytest.mark.parametrize(
    "name, ok",
    [("platform-acme", True), ("weight-format-x2", True), ("platform", False), ("Platform-x", False), ("a--b", False)],
)
def test_names(name, ok):
    assert bool(PLUGIN_NAME.fullmatch(name)) == ok


@pytest.mark.parametrize(
    "text, ok", [("op:rms", True), ("op", False), ("op:", False), ("op:a,b", False), (":a", False)]
)
def test_relations(text, ok):
    assert bool(RELATION.fullmatch(text)) == ok


def test_domains_and_majors():
    assert domain_of("kernelet_weight_kernels") == "op"
    assert domain_of("kernelet_bells") == ""
    assert (stated("kernelet.contracts.op:v2"), stated("")) == (2, 0)
