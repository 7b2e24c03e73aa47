from __future__ import annotations

import pytest

from kernelet.contracts.versions import API_VERSIONS, ApiVersion
from kernelet.hookspecs import DOMAINS


@pytest.mark.parametrize(
    "text, version", [("1.0", (1, 0)), ("v1", (1, 0)), ("v2.13", (2, 13)), ("10.2", (10, 2)), ("3", (3, 0))]
)
def test_parse(text, version):
    assert ApiVersion.parse(text) == version


@pytest.mark.parametrize("text", ["", "v", "one", "1.x", "1.0.0", "v1 v2"])
def test_parse_refuses(text):
    with pytest.raises(ValueError, match="invalid literal"):
        ApiVersion.parse(text)


def test_order_and_text():
    assert ApiVersion(1, 9) < ApiVersion(1, 10) < ApiVersion(2, 0)
    assert str(ApiVersion(1, 10)) == "1.10"
    assert ApiVersion.parse(str(ApiVersion(4, 7))) == ApiVersion(4, 7)


def test_every_hook_domain_has_a_contract():
    assert tuple(API_VERSIONS) == DOMAINS
    assert all(version >= (1, 0) for version in API_VERSIONS.values())


def test_versions_cannot_be_changed():
    with pytest.raises(TypeError):
        API_VERSIONS["op"] = ApiVersion(9, 9)
