from __future__ import annotations

import re

import pytest
from packaging.utils import canonicalize_name, parse_wheel_filename

from kernelet_model_smollm2.release import RELEASES


@pytest.mark.parametrize("release", RELEASES.values(), ids=RELEASES)
def test_release_is_pinned_completely(release):
    name, version, _, tags = parse_wheel_filename(release.wheel)
    assert (name, str(version)) == (canonicalize_name(release.distribution), release.version)
    assert {str(tag) for tag in tags} == {"py3-none-any"}
    assert re.fullmatch(r"[0-9a-f]{64}", release.sha256)
    assert release.member.endswith(".gguf")
