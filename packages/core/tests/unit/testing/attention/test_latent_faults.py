from __future__ import annotations

from kernelet.testing.attention.kept import SlowKept
from kernelet.testing.attention.latent_faults import LATENT_PLANTED


def test_each_changes_the_reference():
    assert all(issubclass(attention, SlowKept) and attention is not SlowKept for _, attention, _ in LATENT_PLANTED)
    assert len({name for name, _, _ in LATENT_PLANTED}) == len(LATENT_PLANTED)
