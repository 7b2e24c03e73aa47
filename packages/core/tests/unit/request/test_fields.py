from __future__ import annotations

import pytest

from kernelet.contracts.sampling import SamplingParams
from kernelet.errors import ParameterError
from kernelet.request.fields import SAMPLING_FIELDS

VOCAB = 100


def test_every_sampling_field_is_in_the_table():
    assert set(SAMPLING_FIELDS) | {"extra_args"} == set(SamplingParams.__struct_fields__)


def test_every_default_passes():
    defaults = SamplingParams()
    for name, check in SAMPLING_FIELDS.items():
        check(name, getattr(defaults, name), VOCAB)


@pytest.mark.parametrize(
    "name, given, expected",
    [
        ("temperature", 0, 0.0),
        ("temperature", 9e-6, 0.0),
        ("temperature", 0.7, 0.7),
        ("top_k", -1, 0),
        ("top_k", 100, 0),
        ("top_k", 99, 99),
        ("logprobs", -1, -1),
        ("logprobs", 100, 100),
        ("stop", "END", ("END",)),
        ("stop", None, ()),
        ("stop", ["a", "b"], ("a", "b")),
        ("bad_words", None, ()),
        ("stop_token_ids", None, ()),
        ("stop_token_ids", [5, 5, 6], (5, 6)),
        ("allowed_token_ids", range(100), tuple(range(100))),
        ("logit_bias", {}, None),
        ("logit_bias", {5: 1}, {5: 1.0}),
    ],
)
def test_values_come_into_one_form(name, given, expected):
    assert SAMPLING_FIELDS[name](name, given, VOCAB) == expected


@pytest.mark.parametrize(
    "value, named",
    [
        ({100: 1.0}, "token id 100"),
        ({"AI": -100}, "token id 'AI'"),
        ({5: float("nan")}, r"logit_bias\[5\]"),
        ({5: 101}, r"logit_bias\[5\]"),
        ([5], "dictionary"),
        ({True: 1.0}, "token id True"),
    ],
)
def test_logit_bias_names_what_is_wrong(value, named):
    with pytest.raises(ParameterError, match=named):
        SAMPLING_FIELDS["logit_bias"]("logit_bias", value, VOCAB)
