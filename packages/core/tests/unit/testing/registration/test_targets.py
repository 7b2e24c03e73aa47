from __future__ import annotations

import pytest

from kernelet.contracts.executor import SchedulerOffer, SchedulingPolicy
from kernelet.contracts.model import ModelArchitectureOffer, WeightFormatOffer, WeightReader
from kernelet.contracts.op import OpOffer
from kernelet.contracts.platform import Device, PlatformOffer
from kernelet.errors import PluginError
from kernelet.kernel.discovery import Candidate
from kernelet.kernel.kinds import KINDS, kind_of
from kernelet.kernel.offers import IMPORT_STRINGS
from kernelet.kernel.record import Record
from kernelet.testing.registration.targets import CALLS, CLASSES, check_call, check_interface, check_target, complaints


class Fine(SchedulingPolicy):
    def key(self, request, further=None):
        return (0,)


class Renamed(SchedulingPolicy):
    def key(self, r):
        return (0,)


class Needs(SchedulingPolicy):
    def key(self, request, further):
        return (0,)


class Short(SchedulingPolicy):
    def key(self):
        return (0,)


class MadeOtherwise(SchedulingPolicy):
    def __init__(self, settings, more):
        super().__init__(settings)

    def key(self, request):
        return (0,)


class Anything(SchedulingPolicy):
    def key(self, *arguments):
        return (0,)


def record(*offers):
    made = Record(candidate=Candidate(name="p", entry_point="p"))
    made.offers = [(kind_of(type(offer)), offer, "") for offer in offers]
    return made


def scheduler(target, **fields):
    return SchedulerOffer(name="x", target=f"{__name__}:{target}", **fields)


@pytest.mark.parametrize(
    "target, message",
    [
        (Renamed, "'request' where it takes 'r'"),
        (Needs, "cannot be called as the contract does"),
        (Short, "cannot be called as the contract does"),
        (MadeOtherwise, "cannot be called as the contract does"),
        (SchedulingPolicy, "does not implement key"),
        (dict, "is no subclass of"),
        (7, "is no subclass of"),
    ],
)
def test_a_class_that_is_not_what_its_contract_wants(target, message):
    with pytest.raises(PluginError, match=message):
        check_interface(target, SchedulingPolicy)


def test_a_class_that_is():
    for target in (Fine, Anything):
        check_interface(target, SchedulingPolicy)
    check_interface(MadeOtherwise, SchedulingPolicy, constructor=False)


def test_a_reader_that_opens_itself_is_made_as_it_likes():
    names = {name: (lambda self, name=None, rows=None: None) for name in ("names", "shape", "read", "nbytes")}
    made = {"names": lambda self: (), "shape": lambda self, name: (), "__init__": lambda self, a, b, c: None}
    made |= {"read": lambda self, name, rows=None: None, "nbytes": lambda self, name=None: 0}
    with pytest.raises(PluginError, match="__init__"):
        check_interface(type("Reader", (WeightReader,), made), WeightReader)
    opened = classmethod(lambda cls, folder, settings: cls(1, 2, 3))
    check_interface(type("Reader", (WeightReader,), {**made, "open": opened}), WeightReader)
    assert len(names) == 4


def test_functions():
    check_call(lambda config: None, 1)
    check_call(lambda config, more=1: None, 1)
    for target in (7, lambda: None, lambda a, b: None):
        with pytest.raises(PluginError, match="called with 1 arguments"):
            check_call(target, 1)


def test_kinds_without_an_abstract_class():
    model = ModelArchitectureOffer(name="x", target="a:b", describe="a:b")
    check_target(kind_of(ModelArchitectureOffer), model, object)  # a platform's worker may run it
    with pytest.raises(PluginError, match="no class"):
        check_target(kind_of(ModelArchitectureOffer), model, 7)
    op = OpOffer(name="x", target="a:b", op="add")
    check_target(kind_of(OpOffer), op, len)
    with pytest.raises(PluginError, match="cannot be called"):
        check_target(kind_of(OpOffer), op, 7)


def test_an_older_major_is_made_as_it_was():
    kind = kind_of(WeightFormatOffer)
    older = WeightFormatOffer(name="x", target="a:b", patterns=("*",), api="0.9")
    made = {"names": lambda self: (), "shape": lambda self, name: (), "__init__": lambda self: None}
    made |= {"read": lambda self, name, rows=None: None, "nbytes": lambda self, name=None: 0}
    check_target(kind, older, type("Reader", (WeightReader,), made))


def test_complaints_name_field_and_offer():
    platform = PlatformOffer(
        name="p", target=f"{Device.__module__}:Device", probe="os:getcwd", config="os:getcwd", worker="os:nothing"
    )
    found = complaints(record(scheduler("Fine"), scheduler("Renamed"), platform), ())
    assert len(found) == 4
    assert "is not what target of the scheduling policy 'x' wants: key()" in found[0]
    assert "abstract" in found[1] or "does not implement" in found[1]
    assert "os:getcwd is not what config of the platform 'p' wants" in found[2]
    assert "os:nothing cannot be imported, as worker of the platform 'p'" in found[3]


def test_what_only_machines_with_the_device_have():
    offer = SchedulerOffer(name="x", target="driver_of_acme.policy:P")
    assert "No module named" in complaints(record(offer), ())[0]
    assert complaints(record(offer), ["driver_of_acme"]) == []


def test_every_import_string_has_its_check():
    assert {"target", *CLASSES, *CALLS} == set(IMPORT_STRINGS)
    assert len(KINDS) >= 14
