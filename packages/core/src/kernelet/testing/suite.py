"""What all suites are: classes of tests that a vendor subclasses, and whose tests are not quietly overridden."""

from __future__ import annotations

from typing import Any

KIT = __name__.rpartition(".")[0]


class Suite:
    """Base of all suites.

    A subclass gives the fixtures and the capabilities that its suite asks for. Tests of its own are welcome; a test of
    the suite may be replaced only under ``pytest.mark.xfail(reason=...)``, so that what a plugin cannot do is written
    where others read it.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuses a replaced test without a reason.

        Raises:
            TypeError: naming the class and the test.
        """
        super().__init_subclass__(**options)
        if not cls.__module__.startswith(f"{KIT}."):
            for name in _replaced(cls):
                if not _has_reason(vars(cls)[name]):
                    raise TypeError(
                        f"{cls.__qualname__}.{name} replaces a test of its suite: "
                        f"mark it with pytest.mark.xfail(reason=...), or give your own test another name"
                    )


def _replaced(cls: type[Suite]) -> list[str]:
    bases = [base for base in cls.__mro__[1:] if base.__module__.startswith(f"{KIT}.")]
    return [name for name in vars(cls) if name.startswith("test_") and any(name in vars(base) for base in bases)]


def _has_reason(test: object) -> bool:
    marks = getattr(test, "pytestmark", ())
    return any(mark.name == "xfail" and mark.kwargs.get("reason") for mark in marks)
