"""Every planted fault is found by its suite, in the words of its table."""

from __future__ import annotations

import pytest
from kit import unnoticed

from kernelet.testing.faults import DOMAINS, faults_of


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_fault_is_found(domain, tmp_path):
    complaints = unnoticed(faults_of(domain), tmp_path)
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize("domain", DOMAINS)
def test_there_are_enough_of_them(domain):
    faults = faults_of(domain)
    assert len(faults) >= 5
    assert len({fault.name for fault in faults}) == len({fault.says for fault in faults}) == len(faults)
