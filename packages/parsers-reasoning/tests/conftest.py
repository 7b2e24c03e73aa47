"""Which tests of the suites are long here: the random search of families that have the form of another one."""

from __future__ import annotations

import pytest

FORMS = {"TestQwen3", "TestMistral", "TestGranite", "TestGraniteSpoken", "TestOpenaiGptoss", "TestGlm45", "TestErnie45"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and item.originalname == "test_reasoning_comes_back" and not _first(item):
            item.add_marker(pytest.mark.long)


def _first(item: pytest.Function) -> bool:
    return item.cls is not None and item.cls.__name__ in FORMS
