from __future__ import annotations

import pytest

from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.serving.names import ServedNames


def test_every_name_is_the_model():
    names = ServedNames(["a", "b"])
    for name in ("a", "b", None):
        names.check(name)
    assert names.shown == "a"


@pytest.mark.parametrize("name", ["c", "", "A", "x" * 10_000])
def test_another_name_is_not_found(name):
    with pytest.raises(ApiError) as caught:
        ServedNames(["a", "b"]).check(name)
    assert (caught.value.status, caught.value.code, caught.value.param) == (404, "model_not_found", "model")
    assert "'a' or 'b'" in caught.value.message
    assert len(caught.value.message) < 300
