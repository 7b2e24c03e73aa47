from __future__ import annotations

from kernelet.contracts.commands import Command


def test_what_a_command_must_have():
    assert Command.__abstractmethods__ == {"configure", "run"}
