"""Three packages of a third party that must be named, from their wheels: what they promise holds."""

from __future__ import annotations

import json

import pytest

EXAMPLES = ("acme-platform", "acme-steering", "acme-beam-search")


def test_their_own_tests_and_suites_pass(acme_by_name, own_tests):
    assert " passed" in own_tests(acme_by_name, *EXAMPLES[1:])


@pytest.mark.long
def test_the_suites_of_a_platform_pass(acme_by_name, own_tests):
    assert " passed" in own_tests(acme_by_name, EXAMPLES[0])


def test_all_are_active_and_their_command_is_there(acme_by_name):
    states = {row["name"]: row["state"] for row in json.loads(acme_by_name.kernelet("plugins", "list", "--json"))}
    assert {states[name] for name in EXAMPLES} == {"active"}
    assert "(acme-beam-search)" in acme_by_name.kernelet("--help")
