"""The families, and which tests of their suites are long: the costly ones of families with the form of another one.

`tests/unit/test_samples.py` has them in short for every family.
"""

from __future__ import annotations

import pytest

from kernelet_parsers_tool import conformance
from kernelet_parsers_tool.conformance import Family

FAMILIES = [
    suite
    for name, suite in vars(conformance).items()
    if name.startswith("Test") and isinstance(suite, type) and issubclass(suite, Family)
]
FORMS = {"TestHarmony", "TestHermes", "TestPackage", "TestQwen3Coder"}
SECONDS = {"TestGlm47", "TestMistralList", "TestMistralWithIds", "TestStep3p5"}
"""The same table as another class has, with another template."""
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
        if isinstance(item, pytest.Function) and item.cls is not None and _is_long(item, item.cls.__name__):
            item.add_marker(pytest.mark.long)


def _is_long(item: pytest.Function, suite: str) -> bool:
    return suite in SECONDS or (item.originalname in COSTLY and suite not in FORMS)


@pytest.fixture(params=FAMILIES, ids=lambda family: family.__name__)
def family(request: pytest.FixtureRequest) -> type[Family]:
    found: type[Family] = request.param
    return found
