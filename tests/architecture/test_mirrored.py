"""Every module has its own test: src/<package>/a/b.py is tested by tests/unit/a/test_b.py.

The suites of conformance.py are run by tests/test_conformance.py.
"""

from __future__ import annotations

from every import every
from workspace import modules


@every([m for m in modules() if not m.path.stem.startswith("__")])
def test_module_has_a_test(module):
    inside = module.path.relative_to(module.path.parts[0])
    tests = module.distribution.folder / "tests"
    if inside.as_posix() == "conformance.py":
        assert f"from {module.name} import" in (tests / "test_conformance.py").read_text(encoding="utf-8")
        return
    test = tests / "unit" / inside.with_name(f"test_{inside.stem.lstrip('_')}.py")
    assert test.is_file(), f"{module} has no {test}"
    assert "def test_" in test.read_text(encoding="utf-8"), f"{test} has no test"
