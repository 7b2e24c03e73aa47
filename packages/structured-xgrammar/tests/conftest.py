"""Which tests of the suite are long: the costly ones that other grammar engines have in short."""

from __future__ import annotations

import pytest

COSTLY = {"test_another_process_compiles", "test_imports_nothing_heavy", "test_memory"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and item.originalname in COSTLY:
            item.add_marker(pytest.mark.long)
