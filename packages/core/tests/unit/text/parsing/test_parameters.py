from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from kernelet.text.parsing.parameters import Parameters

SCHEMA = {
    "properties": {"s": {"type": "string"}, "n": {"type": "integer"}, "any": True, "m": {"type": ["null", "string"]}}
}


def written(parameters, schema=SCHEMA, pieces=list):
    out = []
    made = Parameters(schema, out.append)
    for name, value in parameters:
        made.key(name)
        for piece in pieces(value):
            made.value(piece)
    made.close()
    made.close()
    return "".join(out)


@given(
    st.lists(st.tuples(st.sampled_from(["s", "n", "m", "any", "unknown"]), st.text(max_size=6)), min_size=1, max_size=5)
)
def test_always_json(parameters):
    found = json.loads(written(parameters))
    assert list(found) == list(dict(parameters))
    for name, value in dict(parameters).items():
        if name in {"s", "unknown"}:
            assert found[name] == value
    assert written(parameters) == written(parameters, pieces=lambda text: [text])


def test_types():
    assert (
        written([("n", "5"), ("s", "5"), ("any", "[1]"), ("m", "None")]) == '{"n": 5, "s": "5", "any": [1], "m": null}'
    )
    assert written([("n", "5")], None) == '{"n": "5"}'
    assert written([("n", "5")], {"properties": []}) == '{"n": "5"}'
    assert written([]) == ""


def test_strings_are_passed_on_as_they_come():
    out = []
    made = Parameters(SCHEMA, out.append)
    made.key("s")
    made.value('a"')
    assert "".join(out) == '{"s": "a\\"'
    made.key("n")
    made.value("1")
    assert "".join(out) == '{"s": "a\\"", "n": '
    made.value("2")
    made.end_value()
    made.end_value()
    assert "".join(out) == '{"s": "a\\"", "n": 12'
