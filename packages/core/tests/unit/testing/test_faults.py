"""Every planted fault is found by its suite, in the words of its table; in CI, a share of the slow domains' faults."""

from __future__ import annotations

import pytest
from kit import unnoticed

from kernelet.testing.faults import DOMAINS, faults_of

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""Some faults leave sockets and tasks behind, which are found whenever garbage is collected."""

SHARES = {
    "attention": 8,
    "communicator": 6,
    "endpoint": 10,
    "grammar_engine": 12,
    "kv_connector": 10,
    "logits_processor": 8,
    "model": 8,
    "op": 4,
    "package": 10,
    "platform": 12,
    "quantization": 3,
    "quantizer": 4,
    "reasoning_parser": 6,
    "scheduler": 5,
    "server": 12,
    "stat_logger": 8,
    "tool_parser": 8,
    "weight_format": 2,
    "weight_kernel": 4,
}
"""Of these domains CI takes every so many-th fault; `hatch run test-long` takes all."""


def check(domain, faults, folder):
    complaints = unnoticed(faults, folder)
    assert not complaints, f"{domain}:\n" + "\n".join(complaints)


@pytest.mark.parametrize("domain", DOMAINS)
def test_faults_are_found(domain, tmp_path):
    check(domain, faults_of(domain)[:: SHARES.get(domain, 1)], tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("domain", SHARES)
def test_every_fault_is_found(domain, tmp_path):
    check(domain, faults_of(domain), tmp_path)


@pytest.mark.parametrize("domain", DOMAINS)
def test_there_are_enough_of_them(domain):
    faults = faults_of(domain)
    assert len(faults) >= 5
    assert len({fault.name for fault in faults}) == len(faults)
    assert len({fault.says for fault in faults}) > len(faults) * 0.9  # one check may find two
