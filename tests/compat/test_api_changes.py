"""Each kind of change of a surface, and the bump that it needs."""

from __future__ import annotations

import ast

import pytest
from api_changes import complaints
from api_surface import describe, empty

HOOKS = """
@hookspec
def kernelet_things(role: Role, rank: int) -> Sequence[ThingOffer]:
    ...
"""

CONTRACT = """
Role = Literal["a", "b"]
NULL = 0

@dataclass(frozen=True, kw_only=True)
class ThingOffer(Offer):
    kinds: frozenset[str]
    size: int = 1

class Pair(msgspec.Struct, frozen=True):
    left: int
    right: int

class Color(StrEnum):
    RED = "red"

class Thing(ABC):
    def __init__(self, settings: Settings) -> None: ...

    @abstractmethod
    def compute(self, x: Tensor, axis: int = -1) -> Tensor: ...

    def close(self) -> None: ...

    @property
    def name(self) -> str: ...

class Model(Protocol):
    def forward(self, x: Tensor) -> Tensor: ...

class PluginView(Protocol):
    def offers(self) -> Sequence[Offer]: ...

def helper(x: int) -> int: ...
"""


def made(contract=CONTRACT, hooks=HOOKS, version="1.4", shared=""):
    domains = {"shared": empty(), "thing": empty(), "other": empty()}
    for domain, source in (("thing", contract), ("thing", hooks), ("shared", shared)):
        for key, found in describe(ast.parse(source)).items():
            domains[domain][key] |= found
    return {"versions": {"thing": version, "other": "1.0"}, "domains": domains}


def edit(old, new):
    assert (CONTRACT + HOOKS).count(old) == 1
    return made(CONTRACT.replace(old, new), HOOKS.replace(old, new))


MAJOR = {
    "a hook is gone": ("kernelet_things", "kernelet_stuff"),
    "a hook's parameter is gone": (", rank: int", ""),
    "a hook's parameter is renamed": ("rank: int", "index: int"),
    "a hook's parameter has another type": ("rank: int", "rank: str"),
    "a hook returns something else": ("Sequence[ThingOffer]", "ThingOffer"),
    "a class is gone": ("class Thing(ABC)", "class Other(ABC)"),
    "a class has another base": ("class ThingOffer(Offer)", "class ThingOffer(Base)"),
    "a class is not frozen any more": ("@dataclass(frozen=True, kw_only=True)", "@dataclass(kw_only=True)"),
    "a field is gone": ("    size: int = 1\n", ""),
    "a field is renamed": ("size: int", "length: int"),
    "a field has another type": ("size: int", "size: float"),
    "a field has another default": ("size: int = 1", "size: int = 2"),
    "a field lost its default": ("size: int = 1", "size: int"),
    "a new field has no default": ("    size: int = 1", "    size: int = 1\n    color: str"),
    "fields that are passed by position change places": ("left: int\n    right: int", "right: int\n    left: int"),
    "a field is put before others": ("left: int\n", "first: int = 0\n    left: int = 0\n"),
    "a value of an enumeration is gone": ('RED = "red"', "pass"),
    "a value of an enumeration is another": ('RED = "red"', 'RED = "rot"'),
    "a method is gone": ("    def close(self) -> None: ...\n", ""),
    "a method is renamed": ("def close", "def shut"),
    "a method must be implemented": ("    def close", "    @abstractmethod\n    def close"),
    "a new method must be implemented": (
        "    def close",
        "    @abstractmethod\n    def open(self): ...\n\n    def close",
    ),
    "a new method of a protocol must be implemented": ("    def forward", "    def load(self): ...\n\n    def forward"),
    "a method's parameter is gone": (", axis: int = -1", ""),
    "a method's parameter is renamed": ("axis: int", "dim: int"),
    "a method's parameter has another default": ("axis: int = -1", "axis: int = 0"),
    "a method's parameter lost its default": ("axis: int = -1", "axis: int"),
    "a method's parameter is passed by name only": ("x: Tensor, axis", "x: Tensor, *, axis"),
    "a method's parameters change places": ("x: Tensor, axis: int = -1", "axis: int, x: Tensor"),
    "a method has a new parameter without default": ("axis: int = -1)", "axis: int = -1, *, fast: bool)"),
    "a method returns something else": ("axis: int = -1) -> Tensor", "axis: int = -1) -> Array"),
    "a property became a method": ("    @property\n", ""),
    "a method became a class method": ("    def close(self)", "    @classmethod\n    def close(self)"),
    "a method became asynchronous": ("    def close", "    async def close"),
    "a constructor takes more": ("settings: Settings)", "settings: Settings, rank: int)"),
    "a method of what the core provides is gone": ("def offers", "def all_offers"),
    "a choice of an alias is gone": ('Literal["a", "b"]', 'Literal["a"]'),
    "a constant is another": ("NULL = 0", "NULL = 1"),
    "a constant is gone": ("NULL = 0", ""),
    "a function is gone": ("def helper", "def helper2"),
    "a function takes something else": ("helper(x: int)", "helper(x: str)"),
}

MINOR = {
    "a hook is new": ("@hookspec\n", "@hookspec\ndef kernelet_new() -> None: ...\n\n@hookspec\n"),
    "a hook has a new parameter": ("rank: int)", "rank: int, host: str)"),
    "a class is new": ("class Thing(ABC)", "class New: ...\n\nclass Thing(ABC)"),
    "a new field has a default": ("size: int = 1", "size: int = 1\n    color: str = ''"),
    "a field got a default": ("kinds: frozenset[str]", "kinds: frozenset[str] = frozenset()"),
    "a value of an enumeration is new": ('RED = "red"', 'RED = "red"\n    BLUE = "blue"'),
    "a new method need not be implemented": ("    def close", "    def open(self): ...\n\n    def close"),
    "a method need not be implemented any more": ("    @abstractmethod\n    def compute", "    def compute"),
    "a method has a new parameter with a default": ("axis: int = -1)", "axis: int = -1, fast: bool = False)"),
    "a method's parameter got a default": ("(self, x: Tensor) -> Tensor", "(self, x: Tensor = ZERO) -> Tensor"),
    "what the core provides has a new method": ("    def offers", "    def load(self): ...\n\n    def offers"),
    "an alias has a new choice": ('Literal["a", "b"]', 'Literal["a", "b", "c"]'),
    "a constant is new": ("NULL = 0", "NULL = 0\nONE = 1"),
    "a function is new": ("def helper", "def other(): ...\n\ndef helper"),
}

NONE = {
    "a docstring": ("class Thing(ABC):\n", 'class Thing(ABC):\n    """Does."""\n'),
    "a private name": ("NULL = 0", "NULL = 0\n_CACHE = 1"),
    "a private method": ("    def close", "    def _shut(self): ...\n\n    def close"),
    "the order of what is passed by name": ("role: Role, rank: int", "rank: int, role: Role"),
    "a body": ("def helper(x: int) -> int: ...", "def helper(x: int) -> int:\n    return x"),
}


@pytest.mark.parametrize("old, new", MAJOR.values(), ids=MAJOR)
def test_major(old, new):
    (line,) = complaints(made(), edit(old, new))
    assert line.startswith("thing 1.4 needs a major bump, to 2.0 (contracts/versions.py): ")


@pytest.mark.parametrize("old, new", MINOR.values(), ids=MINOR)
def test_minor(old, new):
    (line,) = complaints(made(), edit(old, new))
    assert line.startswith("thing 1.4 needs a minor bump, to 1.5 (contracts/versions.py): ")


@pytest.mark.parametrize("old, new", NONE.values(), ids=NONE)
def test_no_bump(old, new):
    assert not complaints(made(), edit(old, new))


@pytest.mark.parametrize(
    "version, enough",
    [("1.4", False), ("1.5", True), ("1.6", True), ("2.0", True), ("1.3", False)],
)
def test_a_minor_change_is_served_by_any_higher_version(version, enough):
    changed = edit("NULL = 0", "NULL = 0\nONE = 1") | {"versions": {"thing": version, "other": "1.0"}}
    assert bool(complaints(made(), changed)) != enough


def test_a_minor_bump_is_not_enough_for_a_major_change():
    changed = edit("NULL = 0", "") | {"versions": {"thing": "1.9", "other": "1.0"}}
    assert complaints(made(), changed) == [
        "thing 1.9 needs a major bump, to 2.0 (contracts/versions.py): name NULL is gone"
    ]


def test_the_line_tells_what_changed_and_the_larger_bump_wins():
    changed = made(CONTRACT.replace("    size: int = 1\n", "").replace("NULL = 0", "NULL = 0\nONE = 1"))
    assert complaints(made(), changed) == [
        "thing 1.4 needs a major bump, to 2.0 (contracts/versions.py): class ThingOffer: field size is gone"
    ]


def test_a_shared_change_needs_the_bump_in_every_domain():
    lines = complaints(made(), made(shared="class Offer:\n    name: str\n"))
    assert [line.partition(" needs a minor bump, to ")[::2] for line in lines] == [
        ("thing 1.4", "1.5 (contracts/versions.py): class Offer is new"),
        ("other 1.0", "1.1 (contracts/versions.py): class Offer is new"),
    ]


def test_a_new_domain_needs_nothing():
    changed = made()
    changed["versions"]["new"] = "1.0"
    changed["domains"]["new"] = made()["domains"]["thing"]
    assert not complaints(made(), changed)
