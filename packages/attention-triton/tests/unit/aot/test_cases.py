from __future__ import annotations

import pytest

from kernelet_attention_triton.aot.cases import SHAPES, cases
from kernelet_attention_triton.targets import REPORTED, TARGETS


@pytest.mark.parametrize("name", REPORTED)
def test_every_argument_is_given_and_every_shape_attended(name):
    found = list(cases(TARGETS[name]))
    for case in found:
        assert set(case.constants) | set(case.types) == set(case.function.arg_names)
        assert not set(case.constants) & set(case.types)
    assert {case.shape for case in found if case.kernel == "attend, decode"} == set(SHAPES)
    assert {case.kernel for case in found} == {
        "attend, prefill",
        "attend, decode",
        "attend, invariant",
        "merge",
        "write_kv",
        "rope_write_kv",
    }
    assert len({(case.kernel, str(case.shape)) for case in found}) == len(found)
