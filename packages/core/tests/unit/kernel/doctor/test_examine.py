from __future__ import annotations

import pytest

from kernelet.kernel import deprecations
from kernelet.kernel.deprecations import Deprecation, Kind
from kernelet.kernel.doctor.examine import FIELDS, WORDS, examine
from kernelet.kernel.offers import IMPORT_STRINGS

SOURCE = """
from kernelet.contracts.platform import Capabilities, PlatformConfig, Probe
from kernelet.contracts.executor import SchedulingPolicy
from kernelet.errors import ConfigError


@hookimpl
def kernelet_platforms():
    return (
        PlatformOffer(
            name="x",
            target="doctors_patient:Device",
            probe="doctors_patient:probe",
            config="doctors_patient:Config",
            worker="doctors_patient:Worker",
            communicator="doctors_patient:Worker",
        ),
    )


@hookimpl
def kernelet_schedulers():
    return [
        SchedulerOffer(name=name, target="doctors_patient:Policy", priority=-100, self_check="doctors_patient:check")
        for name in ("one", "two")
    ]


class Policy(SchedulingPolicy):
    def key(self, request):
        return (0.0,)


class Worker:
    pass


class Config(PlatformConfig):
    def capabilities(self):
        return Capabilities(device_type="x", dtypes=("float32",), memory_bytes=1)


def probe():
    return Probe(available=False, reason="no such card")


def check(settings):
    raise ConfigError(f"{settings.plugin} needs a key")
"""


@pytest.fixture
def results(job):
    def run(target, **fields):
        found = examine(job("target", SOURCE, target=f"doctors_patient:{target}", **fields))
        return [(check.offer, check.what, check.result, check.message) for check in found.checks]

    return run


def test_a_target_is_tried_for_every_offer(results):
    assert [(offer, result) for offer, _, result, _ in results("Policy")] == [
        ("executor:one", "ok"),
        ("executor:one", "ok"),
        ("executor:two", "ok"),
        ("executor:two", "ok"),
    ]


def test_what_cannot_be_imported(job):
    found = examine(job("target", SOURCE, target="no_such_module:Policy"))
    assert found.cost is None
    (check,) = found.checks
    assert (check.what, check.result) == ("import no_such_module:Policy", "failed")
    assert "install the package that provides the module 'no_such_module'" in check.message


def test_its_own_check_says_what_is_wrong(results):
    assert results("check")[0] == ("executor:one", "its own check", "failed", "doctors_patient:plugin needs a key")


def test_a_probe_may_decline(results):
    assert results("probe") == [("platform:x", "its probe answers", "ok", "")]


@pytest.mark.parametrize("platforms, result", [((), "skipped"), (("x",), "ok")])
def test_the_configuration_half_is_made_where_the_platform_is(results, platforms, result):
    assert [one[2] for one in results("Config", platforms=platforms)] == [result]


def test_the_worker_and_the_communicator_are_held_to_their_contracts(results):
    messages = [message for *_, message in results("Worker")]
    assert "no subclass of kernelet.contracts.executor.Worker" in messages[0]
    assert "no subclass of kernelet.contracts.executor.Communicator" in messages[1]


ATTENTION = """
from kernelet.contracts.attention import Attention


class Paged(Attention):
    def allocate_cache(self, spec, num_blocks, device): ...
    def build_metadata(self, batch, device): ...
    def write_kv(self, key, value, cache, metadata): ...
    def forward(self, query, cache, metadata, sinks=None): ...


@hookimpl
def kernelet_attention_backends():
    return (
        AttentionOffer(
            name="x",
            target="doctors_patient:Paged",
            kinds=frozenset({"full"}),
            required_features=frozenset({"fast"}),
            min_compute_capability=(8, 0),
            max_compute_capability=(9, 0),
            requirements=("acme-not-there>=2",),
        ),
    )
"""


@pytest.mark.parametrize(
    "fields, message",
    [
        ({}, "the platform lacks fast"),
        ({"features": frozenset({"fast"})}, "needs compute capability 8.0 to 9.0, here is none"),
        (
            {"features": frozenset({"fast"}), "compute_capability": (7, 5)},
            "needs compute capability 8.0 to 9.0, here is 7.5",
        ),
        (
            {"features": frozenset({"fast"}), "compute_capability": (9, 0)},
            "needs acme-not-there>=2, which is not installed",
        ),
    ],
)
def test_what_needs_another_platform_is_skipped(job, fields, message):
    found = examine(job("target", ATTENTION, target="doctors_patient:Paged", **fields))
    made = found.checks[1]
    assert (made.result, made.message) == ("skipped" if message else "ok", message)


def test_a_deprecated_member_shows(job, monkeypatch):
    entry = Deprecation(
        kind=Kind.MEMBER,
        what="SchedulingPolicy.key",
        domain="executor",
        replacement="order",
        since="1.1",
        removed="9.0",
    )
    monkeypatch.setattr(deprecations, "DEPRECATIONS", (entry,))
    assert examine(job("target", SOURCE, target="doctors_patient:Policy")).deprecated == [str(entry)]
    assert examine(job("target", SOURCE, target="doctors_patient:probe")).deprecated == []


def test_every_import_string_has_a_trial():
    assert set(FIELDS) == set(WORDS) == set(IMPORT_STRINGS) - {"target"}


DESCRIBE = """
from kernelet.contracts.model import ModelArchitectureOffer, ModelInfo
from kernelet.errors import UnsupportedModelError


@hookimpl
def kernelet_model_architectures():
    return (ModelArchitectureOffer(name="X", target="m:M", describe="doctors_patient:describe"),)


def describe(config):
    {body}
"""


@pytest.mark.parametrize(
    "body, result, message",
    [
        ('raise UnsupportedModelError("hidden_size is missing")', "ok", ""),
        ("return ModelInfo(vocab_size=1, max_model_len=1, num_layers=1, hidden_size=1)", "ok", ""),
        ('return config["hidden_size"]', "warning", "KeyError: 'hidden_size'; UnsupportedModelError"),
        ("return None", "failed", "it returned NoneType, not ModelInfo"),
    ],
)
def test_a_description(job, body, result, message):
    (check,) = examine(job("target", DESCRIBE.format(body=body), target="doctors_patient:describe")).checks
    assert check.result == result
    assert check.message.startswith(message)
