"""The half of a platform that lives in every process: probe and configuration."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.config import EngineConfig, PluginsConfig
from kernelet.contracts.attention import AttentionOffer
from kernelet.contracts.platform import Capabilities, PlatformConfig, PlatformOffer, Probe
from kernelet.contracts.sampling import SamplingParams
from kernelet.errors import ConfigError, PluginError, RequestError
from kernelet.kernel import Kernel
from kernelet.kernel.configure import Changes
from kernelet.kernel.imports import import_string
from kernelet.testing.offered import Offered
from kernelet.testing.platform.base import PlatformBase
from kernelet.testing.platform.configs import engine_config, engine_configs, sampling_params
from kernelet.testing.search import SEARCH
from kernelet.testing.verdict import ConformanceError, check
from kernelet.testing.without import call_without

FACTS = "kernelet.testing.platform_facts:config_facts"
DTYPE = re.compile(r"(b?float|float8_)\w+")


class ConfigTests(PlatformBase):
    """Tests of what the frontend uses."""

    def test_probe(self, offered: Offered[PlatformOffer]) -> None:
        probe = import_string(offered.offer.probe)
        first = probe()
        check(isinstance(first, Probe), "the probe must return a Probe")
        check(
            type(first.available) is bool and type(first.priority) is int,
            "`available` of a Probe must be a bool and `priority` an int",
        )
        check(first.reason.strip(), "a Probe must say why the platform is there or not: `reason` is empty")
        check("\n" not in first.reason, "`reason` of a Probe must be one sentence")
        check(probe() == first, "a probe must answer the same when it is asked again")

    def test_in_a_fresh_process(
        self, offered: Offered[PlatformOffer], config_half: PlatformConfig, tmp_path: Path
    ) -> None:
        offer, plugin, folder = offered.offer, offered.settings.plugin, _empty(tmp_path)
        values = dict(offered.settings.values)
        answer = call_without("torch", FACTS, offer.probe, offer.config, plugin, values, str(folder))
        where = "; ".join(answer["attempts"])
        check(
            not where,
            f"a probe and PlatformConfig must import no torch, as every process imports them; it is asked for: {where}",
        )
        check(answer["error"] is None, f"probe and configuration must work in a fresh process, not {answer['error']}")
        facts = answer["value"]
        check(None not in facts["answers"], "the probe must return a Probe, in a fresh process too")
        check(facts["answers"][0] == facts["answers"][1], "a probe must answer the same when it is asked again")
        left = ", ".join(facts["left"])
        check(not left, f"a probe must leave nothing behind, but left {left}")
        limit = self.capabilities.probe_seconds
        check(facts["seconds"] <= limit, f"a probe must answer within {limit} s: every start waits for it")
        check(facts["is_config"], "PlatformConfig must work in a fresh process that has no torch")
        check(
            tuple(facts["order"]) == config_half.attention_order(),
            "attention_order() must be the same in every process",
        )

    def test_capabilities(self, config_half: PlatformConfig) -> None:
        found = config_half.capabilities()
        check(isinstance(found, Capabilities), "capabilities() must return Capabilities")
        check(found.device_type, "`device_type` of the capabilities must be what tensors' devices are called")
        check(
            type(found.dtypes) is tuple and found.dtypes and len(set(found.dtypes)) == len(found.dtypes),
            "`dtypes` of the capabilities must be a tuple of the compute dtypes, best first, none twice",
        )
        check(
            all(DTYPE.fullmatch(dtype) for dtype in found.dtypes),
            "`dtypes` of the capabilities must be floating dtypes by torch's names, as 'bfloat16'",
        )
        check(found.memory_bytes > 0, "`memory_bytes` of the capabilities must be what the device can give: above 0")
        check(found.num_compute_units > 0, "`num_compute_units` of the capabilities must be above 0")
        version = found.compute_capability
        check(
            version is None or (type(version) is tuple and [type(part) for part in version] == [int, int]),
            "`compute_capability` must be (major, minor), or None",
        )
        check(
            type(found.features) is frozenset and all(type(feature) is str and feature for feature in found.features),
            "`features` of the capabilities must be a frozenset of ids",
        )
        check(
            _without_memory(config_half.capabilities()) == _without_memory(found),
            "capabilities() must say the same when it is asked again, the memory aside",
        )

    def test_usual_configuration_is_taken(self, config_half: PlatformConfig) -> None:
        for dtype in config_half.capabilities().dtypes:
            try:
                config_half.check_and_update_config(engine_config(dtype))
            except ConfigError as error:
                raise ConformanceError(
                    f"check_and_update_config() must take one rank with the defaults and each dtype of the "
                    f"capabilities, but refused {dtype}: {error}"
                ) from error

    def test_changes_of_the_configuration(self, offered: Offered[PlatformOffer], config_half: PlatformConfig) -> None:
        dtypes = config_half.capabilities().dtypes

        @settings(SEARCH, max_examples=15)
        @given(config=engine_configs(dtypes))
        def changes(config: EngineConfig) -> None:
            _check_changes(config_half, config)

        changes()

    def test_requests_are_taken_or_refused(self, config_half: PlatformConfig) -> None:
        _judge(config_half, 1, SamplingParams())
        check(
            _judge(config_half, 8, SamplingParams()) is None,
            "validate_request() must take a short prompt with the default parameters",
        )

        @settings(SEARCH, max_examples=15)
        @given(prompt_len=st.integers(1, 1 << 20), params=sampling_params())
        def judges(prompt_len: int, params: SamplingParams) -> None:
            before = copy.deepcopy(msgspec.to_builtins(params))
            first = _judge(config_half, prompt_len, params)
            check(msgspec.to_builtins(params) == before, "validate_request() must not change a request's parameters")
            check(
                _judge(config_half, prompt_len, params) == first, "validate_request() must judge equal requests alike"
            )

        judges()

    def test_attention_order(self, config_half: PlatformConfig, plugins: Sequence[object]) -> None:
        order = config_half.attention_order()
        check(
            type(order) is tuple and len(set(order)) == len(order),
            "attention_order() must be a tuple of names, the favourite first, none twice",
        )
        kernel = Kernel.boot(PluginsConfig(), plugins=list(plugins))
        offers = {owned.offer.name for owned in kernel.offers(AttentionOffer)}
        check(
            not order or offers & set(order),
            "attention_order() must name attention that is installed with the platform, and may name more: nothing "
            f"offers {' or '.join(map(repr, order))}",
        )


def _check_changes(half: PlatformConfig, config: EngineConfig) -> None:
    before = copy.deepcopy(config)
    changes = _ask(half, config)
    check(config == before, "check_and_update_config() must return changes, not make them: the configuration is shared")
    check(_ask(half, config) == changes, "check_and_update_config() must ask the same of the same configuration")
    if changes is None:
        return
    record = Changes(config)
    try:
        record.apply("the platform", changes)
    except (PluginError, ConfigError) as error:
        raise ConformanceError(
            f"check_and_update_config() must return ConfigChanges that can be applied, but {error}"
        ) from error
    check(
        all(change.reason.strip() for change in changes),
        "each ConfigChange must give a reason: it is shown to the user whose value was changed",
    )
    again = Changes(record.config)
    again.apply("the platform", _ask(half, record.config) or ())
    check(
        again.config == record.config,
        "check_and_update_config() must have no wish left once its changes are made",
    )


def _ask(half: PlatformConfig, config: EngineConfig) -> Sequence[Any] | None:
    """The changes; None: the configuration is refused."""
    try:
        changes: Any = half.check_and_update_config(config)
    except ConfigError:
        return None
    except Exception as error:
        raise ConformanceError(
            f"check_and_update_config() must refuse with a ConfigError that says what to do; it raised {error!r}"
        ) from error
    check(isinstance(changes, list | tuple), "check_and_update_config() must return a tuple of ConfigChanges, or ()")
    found: Sequence[Any] = changes
    return found


def _judge(half: PlatformConfig, prompt_len: int, params: SamplingParams) -> str | None:
    """Why a request is refused; None: it is taken."""
    try:
        returned: object = half.validate_request(prompt_len, params)  # type: ignore[func-returns-value]
    except RequestError as error:
        return str(error)
    except Exception as error:
        raise ConformanceError(
            f"validate_request() must refuse with a RequestError, which that request alone gets; it raised {error!r}"
        ) from error
    check(returned is None, "validate_request() must refuse by raising RequestError, not by what it returns")
    return None


def _without_memory(capabilities: Capabilities) -> list[object]:
    names = ("device_type", "dtypes", "num_compute_units", "compute_capability", "features")
    return [getattr(capabilities, name) for name in names]


def _empty(folder: Path) -> Path:
    made = folder / "empty"
    made.mkdir()
    return made
