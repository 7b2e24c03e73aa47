from __future__ import annotations

from acme_platform import native


def test_the_library_is_built_and_loads_twice():
    assert native.library().is_file()
    assert native.missing() == ""
    assert native.load_act_and_mul() is native.load_act_and_mul()
