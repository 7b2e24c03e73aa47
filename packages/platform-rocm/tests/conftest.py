"""What runs in CI: on a machine without a GPU the engine over the recorded device is that of platform-cuda's tests."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path == Path(__file__).parent / "test_conformance.py" and item.name == "test_same_tokens":
            item.add_marker(pytest.mark.long)
