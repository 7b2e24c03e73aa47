from __future__ import annotations

import pytest

from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.protocol.refused import ChatOnlyFields

WRONG = {
    "functions": [[{}]],
    "function_call": ["auto"],
    "service_tier": ["flex"],
    "store": [True, 0],
    "modalities": [["text", "audio"], [], "text"],
    "verbosity": ["low", 1],
    "audio": [{"voice": "alloy"}],
    "prediction": [{}],
    "web_search_options": [{}],
}
HARMLESS = {
    "functions": [None, []],
    "function_call": [None, "none"],
    "store": [None, False],
    "service_tier": ["auto", "default"],
    "modalities": [None, ["text"]],
    "verbosity": [None, "medium"],
    "audio": [None],
}


@pytest.mark.parametrize("field, value", [(field, value) for field, values in WRONG.items() for value in values])
def test_what_nothing_does_is_refused(field, value):
    with pytest.raises(ApiError) as caught:
        ChatOnlyFields(**{field: value}).check_refused()
    assert (caught.value.status, caught.value.param) == (400, field)


@pytest.mark.parametrize("field, value", [(field, value) for field, values in HARMLESS.items() for value in values])
def test_what_asks_for_nothing_passes(field, value):
    ChatOnlyFields(**{field: value}).check_refused()


def test_what_to_do_is_named():
    with pytest.raises(ApiError, match="give tools"):
        ChatOnlyFields(functions=[{"type": "x"}]).check_refused()
