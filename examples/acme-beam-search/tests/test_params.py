from __future__ import annotations

import pytest
from acme_beam_search import BeamSearchParams

from kernelet.errors import ParameterError


@pytest.mark.parametrize(
    "name, value",
    [
        ("beam_width", 0),
        ("beam_width", True),
        ("max_tokens", 1.5),
        ("length_penalty", float("nan")),
        ("length_penalty", "1"),
        ("early_stopping", "always"),
        ("early_stopping", 1),
        ("stop_token_ids", [-1]),
        ("stop_token_ids", "12"),
    ],
)
def test_wrong_values_are_errors_that_name_the_field(name, value):
    values = {"beam_width": 2, "max_tokens": 3} | {name: value}
    with pytest.raises(ParameterError, match=f"^{name}: got"):
        BeamSearchParams(**values)


def test_defaults_are_those_of_transformers():
    params = BeamSearchParams(beam_width=2, max_tokens=3)
    assert (params.length_penalty, params.early_stopping, params.ignore_eos) == (1.0, False, False)
