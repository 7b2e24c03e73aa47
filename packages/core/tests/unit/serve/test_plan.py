from __future__ import annotations

import pytest

from kernelet.contracts.serving import EndpointOffer, Server, ServerOffer
from kernelet.errors import ConfigError, SelectionError
from kernelet.serve.plan import make_plan
from kernelet.testing.plugin_view import FixedPlugins


class Picky(Server):
    checked: list[str] = []  # noqa: RUF012  a test's

    @classmethod
    def check_settings(cls, settings):
        cls.checked.append(settings.plugin)
        if settings.plugin == "bad":
            raise ConfigError("tls_key without tls_certificate")


OFFERS = [
    ServerOffer(name="s", target="s", paths=("v1",)),
    EndpointOffer(name="a", target="a", prefix="/a"),
    EndpointOffer(name="b", target="b", prefix="/v1"),
]


def view(plugin="p"):
    return FixedPlugins(OFFERS, targets={"s": Picky}, plugin=plugin)


def test_what_is_served():
    plan = make_plan(view(), None, ["a", "a"], ["m", "n", "m"], 2)
    assert plan.server.offer.name == "s"
    assert plan.server_class is Picky
    assert [owned.offer.name for owned in plan.endpoints] == ["a"]
    assert plan.served_model_names == ("m", "n")
    assert plan.num_frontends == 2
    assert Picky.checked[-1] == "p"


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        (("x", [], ["m"]), SelectionError, "no ServerOffer"),
        ((None, ["x"], ["m"]), SelectionError, "no EndpointOffer"),
        ((None, ["b"], ["m"]), ConfigError, "/v1 belongs to the server s"),
        ((None, [], ["m", " "]), ConfigError, "--served-model-name: got an empty name"),
    ],
)
def test_what_does_not_fit(arguments, error, message):
    with pytest.raises(error, match=message):
        make_plan(view(), *arguments)


def test_the_servers_options_are_checked_before_anything_is_loaded():
    with pytest.raises(ConfigError, match="tls_key without"):
        make_plan(view("bad"), None, [], ["m"])
