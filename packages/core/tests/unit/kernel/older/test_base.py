from __future__ import annotations

from kernelet.kernel.older.base import above


class Interface:
    def __init__(self, one, two):
        self.given = (one, two)


class Old(Interface):
    def __init__(self, one):
        super().__init__(one, self.two)


class Vendors(Interface):
    """Says."""

    def __init__(self, one):
        super().__init__(one)
        self.own = 1


def test_the_old_base_stands_between_a_class_and_its_interface():
    made = above(Vendors, Old, two=2)
    one = made("a")
    assert (one.given, one.own) == (("a", 2), 1)
    assert isinstance(one, Vendors)
    assert (made.__name__, made.__qualname__, made.__module__, made.__doc__) == (
        Vendors.__name__,
        Vendors.__qualname__,
        Vendors.__module__,
        "Says.",
    )


def test_a_class_without_a_constructor_has_the_old_one():
    class Plain(Interface):
        pass

    assert above(Plain, Old, two=2)("a").given == ("a", 2)
