from __future__ import annotations

import pytest

from kernelet.config import KVEventsConfig, KVTransferConfig
from kernelet.contracts.kv import KVConnectorOffer
from kernelet.contracts.plugins import Owned
from kernelet.engine.kv_options import kv_events, kv_transfer, warn_of_unused
from kernelet.engine.option_sources import resolve_options
from kernelet.errors import ConfigError, SelectionError


def offer(name, *aliases, **fields):
    return KVConnectorOffer(name=name, target="a:B", worker="a:C", aliases=aliases, **fields)


OFFERS = {
    "offload": offer("offload", "OffloadingConnector", extra_config={"cpu_bytes_to_use": "memory_bytes"}),
    "pull": offer("pull", "PullConnector", roles=frozenset({"producer", "consumer"}), params=("remote", "lease")),
    "push": offer("push", params=("remote",)),
}


def select(name):
    for one in OFFERS.values():
        if name in {one.name, *one.aliases}:
            return Owned(offer=one, plugin=f"kv-{one.name}")
    raise SelectionError(f"No KV connector is named {name!r}")


def options(**given):
    return resolve_options(given, environ={}).options


def decided(**given):
    return kv_transfer(options(**given), select)


def written(**given):
    """In vLLM's form."""
    return decided(kv_transfer_config=given)


def test_none_runs_unless_asked():
    assert decided().config == KVTransferConfig()


def test_flags():
    found = decided(
        kv_connector="offload,PullConnector",
        kv_role="consumer",
        kv_load_failure_policy="fail",
        kv_load_timeout=2,
        kv_handover_timeout="9.5",
        set={"kv-offload": {"path": "x"}},
    )
    assert found.config == KVTransferConfig(
        connectors=("offload", "pull"),
        role="consumer",
        load_failure_policy="fail",
        load_timeout=2.0,
        handover_timeout=9.5,
    )
    assert found.settings == {"kv-offload": {"path": "x"}}


def test_the_form_of_vllm_names_the_same():
    found = written(
        kv_connector="OffloadingConnector",
        kv_role="kv_both",
        engine_id="e1",
        kv_load_failure_policy="fail",
        kv_connector_extra_config={"cpu_bytes_to_use": 5, "path": "x"},
        kv_port=None,
        enable_permute_local_kv=False,
    )
    assert found.config == KVTransferConfig(
        connectors=("offload",), role="both", load_failure_policy="fail", engine_id="e1"
    )
    assert found.settings == {"kv-offload": {"memory_bytes": 5, "path": "x"}}


def test_several_connectors():
    children = [
        {"kv_connector": "PullConnector", "kv_role": "kv_producer"},
        {"kv_connector": "OffloadingConnector", "kv_connector_extra_config": {"path": "x"}},
    ]
    found = written(kv_connector="MultiConnector", kv_connector_extra_config={"connectors": children})
    assert (found.config.connectors, found.config.role) == (("pull", "offload"), "producer")
    assert found.settings == {"kv-offload": {"path": "x"}}


def test_text_of_a_flag_or_variable():
    text = '{"kv_connector": "OffloadingConnector", "kv_role": "kv_both"}'
    found = resolve_options({}, environ={"KERNELET_KV_TRANSFER_CONFIG": text}).options
    assert kv_transfer(found, select).config.connectors == ("offload",)
    with pytest.raises(ConfigError, match=r"kv_transfer_config: got '\{', expected a JSON object"):
        options(kv_transfer_config="{")


@pytest.mark.parametrize(
    "given, message",
    [
        ({"kv_connector": "offload,other"}, "No KV connector is named 'other'"),
        ({"kv_connector": "offload,OffloadingConnector"}, "offload is named twice"),
        ({"kv_connector": "pull,push"}, "both take 'remote' of kv_transfer_params"),
        ({"kv_connector": "pull", "kv_role": "both"}, "pull can be producer, consumer"),
        ({"kv_role": "both"}, "there is none: name one"),
        ({"kv_connector": "pull", "kv_transfer_config": {"kv_connector": "pull"}}, "give one of them"),
        ({"kv_transfer_config": {}}, "missing required field `kv_connector`"),
        ({"kv_transfer_config": {"kv_connector": "pull", "kv_roll": 1}}, "unknown field `kv_roll`"),
        ({"kv_transfer_config": {"kv_connector": "pull", "kv_role": "producer"}}, "expected one of kv_producer"),
        ({"kv_transfer_config": {"kv_connector": "pull", "kv_port": 1}}, "kv_port: got 1: .*kv_connector_extra_config"),
        ({"kv_transfer_config": {"kv_connector": "pull", "kv_connector_module_path": "a"}}, "install a package"),
        ({"kv_transfer_config": {"kv_connector": "pull", "kv_load_failure_policy": "x"}}, "expected one of recompute"),
        ({"kv_transfer_config": {"kv_connector": "MultiConnector"}}, "with a list of connectors"),
        (
            {"kv_role": "consumer", "kv_transfer_config": {"kv_connector": "pull", "kv_role": "kv_producer"}},
            "--kv-role: got 'consumer' and 'producer'",
        ),
        (
            {
                "set": {"kv-offload": {"memory_bytes": "1"}},
                "kv_transfer_config": {
                    "kv_connector": "OffloadingConnector",
                    "kv_connector_extra_config": {"cpu_bytes_to_use": 2},
                },
            },
            "cpu_bytes_to_use is kv-offload.memory_bytes, which is set already",
        ),
    ],
)
def test_what_cannot_be_is_one_clear_error(given, message):
    with pytest.raises((ConfigError, SelectionError), match=message):
        decided(**given)


@pytest.mark.parametrize(
    "flag, value",
    [
        ("kv_role", "producer"),
        ("kv_load_failure_policy", "fail"),
        ("kv_load_timeout", 2),
        ("kv_handover_timeout", 2),
    ],
)
def test_options_of_connectors_need_one(flag, value):
    with pytest.raises(ConfigError, match=f"^--{flag.replace('_', '-')} is of KV connectors, and there is none"):
        decided(**{flag: value})


def test_numbers_of_that_form_are_those_of_json():
    found = written(kv_connector="offload", kv_connector_extra_config={"cpu_bytes_to_use": 1e9, "share": 0.5})
    assert repr(found.settings) == repr({"kv-offload": {"memory_bytes": 1000000000, "share": 0.5}})


def test_where_an_option_stands_is_told():
    found = written(kv_connector="offload", kv_connector_extra_config={"cpu_bytes_to_use": "much"})
    where = "--kv-transfer-config: kv_connector_extra_config.cpu_bytes_to_use"
    assert found.origins == {("kv-offload", "memory_bytes"): where}


def test_options_of_connectors_that_do_not_run_are_said(caplog):
    offers = [select("offload"), select("pull")]
    warn_of_unused({"kv-offload": {"path": "x"}, "kv-pull": {}, "platform-cpu": {}}, offers, ["pull"])
    (record,) = caplog.records
    assert record.getMessage() == (
        "options of kv-offload are set, and offload does not run: name it with --kv-connector"
    )


def test_events_as_vllm_writes_them():
    assert kv_events(options()) == KVEventsConfig()
    given = {"enable_kv_cache_events": True, "publisher": "zmq", "endpoint": "tcp://*:1", "topic": "kv", "hwm": 5}
    assert kv_events(options(kv_events_config=given)) == KVEventsConfig(
        enable_kv_cache_events=True, endpoint="tcp://*:1", topic="kv", hwm=5
    )
    off = {"enable_kv_cache_events": True, "publisher": "null"}
    assert not kv_events(options(kv_events_config=off)).enable_kv_cache_events


@pytest.mark.parametrize(
    "given, message",
    [
        ({"enable": True}, "unknown field `enable`"),
        ({"buffer_steps": 0}, r"`int` >= 1 - at `\$.buffer_steps`"),
        ({"publisher": "kafka"}, "expected zmq or null"),
    ],
)
def test_events_that_cannot_be(given, message):
    with pytest.raises(ConfigError, match=message):
        kv_events(options(kv_events_config=given))


def test_events_need_a_prefix_cache():
    with pytest.raises(ConfigError, match="prefix caching"):
        kv_events(options(kv_events_config={"enable_kv_cache_events": True}, enable_prefix_caching=False))
