from __future__ import annotations

import pytest

from kernelet.contracts.offer import Offer
from kernelet.contracts.plugins import Owned
from kernelet.errors import SelectionError
from kernelet.kernel.select.relations import check_relations


def owned(name, **fields):
    return Owned(offer=Offer(name=name, target="m:X", **fields), plugin=f"plugin-{name}")


def test_fine():
    check_relations(
        {
            "op:a": owned("a", requires=("kv:b", "cache:c"), conflicts=("kv:z",)),
            "kv:b": owned("b", conflicts=("cache:c",)),
        },
        {"cache:c"},
    )


def test_all_complaints_at_once():
    with pytest.raises(SelectionError) as caught:
        check_relations(
            {
                "op:a": owned("a", requires=("kv:z", "kv:b")),
                "kv:b": owned("b", conflicts=("op:a", "op:q")),
            }
        )
    assert "op:a (plugin plugin-a) requires kv:z, which was not selected" in str(caught.value)
    assert "kv:b (plugin plugin-b) does not work together with op:a" in str(caught.value)
    assert "op:q" not in str(caught.value)
