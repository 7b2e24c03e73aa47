"""Which suites are long here: those of families whose form is nearly that of another one.

``unit/test_families.py`` and ``tests/parsers`` cut what all of them write.
"""

from __future__ import annotations

import pytest

FORMS = {"TestPackage", "TestQwen3", "TestOpenaiGptoss"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and item.cls is not None and item.cls.__name__ not in FORMS:
            item.add_marker(pytest.mark.long)
