"""What the words of shapes promise, of graphs that are read from random schemas."""

from __future__ import annotations

from contextlib import suppress
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from random_schemas import random_document

from kernelet.structured.refusal import UnenforcedError
from kernelet.structured.schema.read import children, read_schema
from kernelet.structured.schema.shapes import ArrayShape, NumberShape, ObjectShape, StringShape


def check_array(graph, shape):
    if shape.max_items is not None:
        assert shape.min_items <= shape.max_items and len(shape.prefix) <= shape.max_items
    if shape.rest is None and shape.distinct is None:
        assert shape.min_items <= len(shape.prefix)
    if shape.contained is not None:
        assert shape.rest is not None and shape.distinct is None
        assert shape.contained.maximum is None or shape.contained.minimum <= shape.contained.maximum
    if shape.distinct is not None:
        assert not shape.prefix and all(len(graph.nodes[node]) == 1 for node in shape.distinct)


def check_object(shape):
    names = [each.name for each in shape.properties]
    required = sum(each.required for each in shape.properties)
    assert len(set(names)) == len(names)
    assert shape.min_properties <= (required + 1 if shape.others else len(names))
    assert shape.max_properties is None or shape.max_properties >= max(required, shape.min_properties)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32).map(Random))
def test_promises(random):
    with suppress(UnenforcedError):
        graph = read_schema(random_document(random))
        assert graph.paths.keys() <= set(range(len(graph.nodes)))
        for shape in (shape for node in graph.nodes for shape in node):
            assert all(graph.nodes[node] for node in children(shape))
            match shape:
                case ArrayShape():
                    check_array(graph, shape)
                case ObjectShape():
                    check_object(shape)
                case NumberShape(values=values) if values is not None:
                    assert values and shape == NumberShape(values=values)
                case StringShape(values=values) if values is not None:
                    assert values and shape == StringShape(values=values)
                case NumberShape(minimum=low, maximum=high) if low is not None and high is not None:
                    assert low <= high
                case _:
                    pass
