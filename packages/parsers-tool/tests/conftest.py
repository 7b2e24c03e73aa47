"""Which tests of the suites are long here: the costly ones of families that have the form of another one.

`tests/unit/test_samples.py` has them in short for every family.
"""

from __future__ import annotations

import pytest

FORMS = {"TestDeepseekV3", "TestHarmony", "TestHermes", "TestLlama4Pythonic", "TestMistral", "TestQwen3Coder"}
COSTLY = {
    "test_calls_come_back",
    "test_choices_share_nothing",
    "test_cuts_at_several_places",
    "test_every_cut_at_one_place",
    "test_every_end",
    "test_looks_at_text_once",
    "test_works_beside_a_reasoning_parser",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and item.originalname in COSTLY and not _first(item):
            item.add_marker(pytest.mark.long)


def _first(item: pytest.Function) -> bool:
    return item.cls is None or item.cls.__name__ in FORMS
