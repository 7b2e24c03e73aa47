from __future__ import annotations

import pytest

from kernelet.config import PluginsConfig
from kernelet.contracts.executor import SchedulerOffer
from kernelet.contracts.platform import PlatformOffer
from kernelet.contracts.sampling import LogitsProcessorOffer
from kernelet.contracts.versions import ApiVersion
from kernelet.errors import IncompatiblePluginError, PluginError
from kernelet.kernel.kinds import kind_of
from kernelet.kernel.offers import checked, why_inactive

KIND = kind_of(SchedulerOffer)
PLATFORM = {"target": "m:D", "probe": "m:p", "config": "m:C", "worker": "m:W"}


def scheduler(**fields):
    return SchedulerOffer(**({"name": "x", "target": "m:X"} | fields))


def test_good_ones():
    offers = [scheduler(), scheduler(name="y")]
    assert checked(KIND, offers) == tuple(offers)
    assert checked(KIND, ()) == ()


def test_subclasses_are_fine():
    class Own(SchedulerOffer): ...

    offer = Own(name="x", target="m:X")
    assert checked(KIND, (offer,)) == (offer,)


@pytest.mark.parametrize(
    "returned",
    [
        None,
        "x",
        scheduler(),
        {scheduler()},
        ["x"],
        (LogitsProcessorOffer(name="x", target="m:X"),),
        (scheduler(name=""),),
        (scheduler(name=" "),),
        (scheduler(name="a,b"),),
        (scheduler(name=3),),
        (scheduler(target=""),),
        (scheduler(target="m.X"),),
        (scheduler(target=object),),
        (scheduler(api="one"),),
        (scheduler(api=1.0),),
    ],
)
def test_malformed_ones(returned):
    with pytest.raises(PluginError):
        checked(KIND, returned)


@pytest.mark.parametrize("field", ["probe", "config", "worker", "communicator", "self_check", "target"])
def test_every_import_string_is_checked(field):
    kind = kind_of(PlatformOffer)
    assert checked(kind, (PlatformOffer(name="x", **PLATFORM),))
    with pytest.raises(PluginError, match=f"{field} 'no-colon' is not of the form"):
        checked(kind, (PlatformOffer(name="x", **(PLATFORM | {field: "no-colon"})),))


@pytest.mark.parametrize("api, fits", [("3.0", True), ("3.2", True), ("2.9", True), ("3.3", False), ("1.0", False)])
def test_contract_version(api, fits):
    served = {"executor": ApiVersion(3, 2)}
    if fits:
        assert checked(KIND, (scheduler(api=api),), served)
    else:
        with pytest.raises(IncompatiblePluginError, match="scheduling policy 'x' needs the contract executor"):
            checked(KIND, (scheduler(api=api),), served)


def test_opt_in():
    kind = kind_of(LogitsProcessorOffer)
    offer = LogitsProcessorOffer(name="shout", target="m:X")
    config = PluginsConfig()
    assert "opt-in and not named" in why_inactive(kind, offer, "p", config, named=False)
    assert why_inactive(kind, offer, "p", config, named=True) == ""
    assert why_inactive(kind, offer, "p", PluginsConfig(logits_processors=("shout",)), named=False) == ""
    assert why_inactive(KIND, scheduler(), "p", config, named=False) == ""
