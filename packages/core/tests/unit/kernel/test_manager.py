from __future__ import annotations

import dataclasses
import logging
from pathlib import Path

import pytest

from kernelet.config import EngineConfig, ModelConfig, PluginsConfig
from kernelet.contracts.attention import AttentionOffer, AttentionSpec
from kernelet.contracts.executor import ExecutorOffer, SchedulerOffer
from kernelet.contracts.lifecycle import ConfigChange, PluginOptions, ProcessRole
from kernelet.contracts.model import ModelArchitectureOffer, ModelInfo, ModelSource, ModelSourceOffer
from kernelet.contracts.offer import Option
from kernelet.contracts.op import DENSE, OpOffer, Support, WeightKernel, WeightKernelOffer
from kernelet.contracts.platform import Capabilities, PlatformConfig, PlatformOffer, Probe
from kernelet.contracts.plugins import PluginView
from kernelet.errors import ConfigError, PluginError, SelectionError
from kernelet.hookspecs import hookimpl
from kernelet.kernel import Kernel, start
from kernelet.kernel.discovery import Candidate, Discovery

CONFIG = EngineConfig(
    model=ModelConfig(
        model="m",
        path="/m",
        architecture="A",
        hf_config={},
        dtype="float32",
        vocab_size=10,
        max_model_len=100,
        num_layers=1,
    )
)
SPEC = AttentionSpec(kind="full", num_heads=1, num_kv_heads=1, head_size=8, dtype="float32", block_size=16, scale=1.0)


@pytest.fixture(autouse=True)
def targets(monkeypatch):
    """Import strings name things of ``json``, which every process has."""
    import json

    for thing in (Config, Source, Dense, Broken):
        monkeypatch.setattr(json, thing.__name__, thing, raising=False)
    monkeypatch.setattr(json, "probe", lambda: Probe(available=True, reason="always"), raising=False)
    monkeypatch.setattr(json, "info", lambda config: ModelInfo(**config), raising=False)


class Config(PlatformConfig):
    def capabilities(self):
        return Capabilities(device_type="null", dtypes=("float32",), memory_bytes=int(self.settings["memory"]))

    def check_and_update_config(self, config):
        if config.model.max_model_len > 1000:
            raise ConfigError("the context is too long for this platform")
        return (ConfigChange(path="cache.block_size", value=8, reason="the device says so"),)

    def attention_order(self):
        return ("favourite",)


class Source(ModelSource):
    def resolve(self, name):
        return Path("/models") / name


class Dense(WeightKernel):
    @classmethod
    def supports(cls, role, scheme, dtype, shape):
        return Support(dtype == "float32", "float32 only")

    prepare = apply = None


class Broken:
    def __init__(self, settings):
        raise OSError("no device")


class Plugin:
    name = "mine"

    @hookimpl
    def kernelet_options(self):
        return PluginOptions(schema={"memory": Option(type=int, default=64)})

    @hookimpl
    def kernelet_platforms(self):
        return (
            PlatformOffer(
                name="null", target="json:Device", probe="json:probe", config="json:Config", worker="json:Worker"
            ),
        )

    @hookimpl
    def kernelet_attention_backends(self):
        return (
            AttentionOffer(name="favourite", target="json:A", kinds=frozenset({"full"})),
            AttentionOffer(name="stronger", target="json:B", kinds=frozenset({"full", "sliding"}), priority=50),
        )

    @hookimpl
    def kernelet_weight_kernels(self):
        return (WeightKernelOffer(name="dense", target="json:Dense"),)

    @hookimpl
    def kernelet_ops(self):
        return (OpOffer(name="norm", target="json:loads", op="rms_norm", requires=("op:dense",)),)

    @hookimpl
    def kernelet_model_sources(self):
        return (ModelSourceOffer(name="source", target="json:Source", models={"tiny": "a tiny one"}),)

    @hookimpl
    def kernelet_model_architectures(self):
        return (
            ModelArchitectureOffer(
                name="TinyModel", target="json:M", describe="json:info", conflicts=("executor:priority",)
            ),
        )


def test_it_is_a_plugin_view(boot):
    view: PluginView = boot()
    for name in vars(PluginView):
        if not name.startswith("_"):
            assert getattr(view, name) is not None


def test_only_what_was_asked_for(boot):
    kernel = boot(Plugin(), allow=())
    assert [r.name for r in kernel.reports] == ["core", "mine"]
    assert kernel.role is ProcessRole.FRONTEND
    assert kernel.settings("mine").values == {"memory": 64}
    with pytest.raises(PluginError, match="'other' is not active"):
        kernel.settings("other")


def test_settings_that_are_known_once_offers_are(boot):
    kernel = boot(Plugin())
    kernel.use_settings({"mine": {"memory": "65"}})
    assert kernel.settings("mine").values == {"memory": 65}
    assert kernel.config.settings == {"mine": {"memory": "65"}}
    with pytest.raises(ConfigError, match="no such option"):
        kernel.use_settings({"mine": {"other": 1}})
    assert kernel.settings("mine").values == {"memory": 65}


def test_load(boot):
    import json

    kernel = boot(Plugin())
    (owned,) = kernel.offers(PlatformOffer)
    assert kernel.load(owned, "json:loads") is json.loads
    assert kernel.load(owned, owned.offer.config) is Config


@pytest.mark.parametrize(
    "target, reason",
    [
        ("not_here_at_all:X", "ModuleNotFoundError"),
        ("json:nothing", "AttributeError"),
        ("json", "is not of the form"),
    ],
)
def test_load_failures_name_plugin_and_import_string(boot, target, reason):
    kernel = boot(Plugin())
    (owned,) = kernel.offers(PlatformOffer)
    with pytest.raises(PluginError, match=reason) as caught:
        kernel.load(owned, target)
    assert target in str(caught.value)
    assert "plugin 'mine'" in str(caught.value)


def test_select(boot):
    kernel = boot(Plugin())
    assert kernel.select(SchedulerOffer).chosen.offer.name == "fcfs"
    assert kernel.select(SchedulerOffer, "priority").chosen.offer.name == "priority"
    with pytest.raises(SelectionError, match=r"No executor is named 'x'.*Choices: in-process \(core\)"):
        kernel.select(ExecutorOffer, "x")


def test_platform_is_selected_once_and_made_with_its_settings(boot):
    kernel = boot(Plugin(), settings={"mine": {"memory": "128"}})
    assert kernel.platform_config is None
    platform = kernel.select_platform()
    assert platform is kernel.select_platform()
    assert (platform.name, platform.capabilities.memory_bytes) == ("null", 128)
    assert platform.attention_order == ("favourite",)
    assert isinstance(kernel.platform_config, Config)
    assert kernel.platform_choice.reason == "the only one that fits; always"


def test_attention_follows_the_platforms_order(boot):
    kernel = boot(Plugin())
    choice = kernel.select_attention(SPEC)
    assert choice.chosen.offer.name == "favourite"
    assert "stronger" in choice.refused
    sliding = kernel.select_attention(dataclasses.replace(SPEC, kind="sliding", window=4))
    assert sliding.chosen.offer.name == "stronger"
    assert sliding.refused == {"favourite": "serves full, not sliding"}


def test_attention_that_was_named(boot):
    kernel = boot(Plugin(), attention={"full": "stronger"})
    assert kernel.select_attention(SPEC).chosen.offer.name == "stronger"


def test_nobody_serves_the_layer(boot):
    with pytest.raises(SelectionError, match="for layers of kind mla can be used") as caught:
        boot(Plugin()).select_attention(dataclasses.replace(SPEC, kind="mla"))
    assert "favourite: serves full, not mla" in str(caught.value)


def test_weight_kernel(boot):
    kernel = boot(Plugin())
    assert kernel.select_weight_kernel("linear", DENSE, "float32", (4, 8)).chosen.offer.name == "dense"
    with pytest.raises(
        SelectionError, match=r"linear weights dense \[4, 8\] in float16 can be used.\n  dense: float32 only"
    ):
        kernel.select_weight_kernel("linear", DENSE, "float16", (4, 8))


def test_ops(boot):
    kernel = boot(Plugin())
    assert kernel.select_op("rms_norm", "float32").chosen.offer.name == "norm"
    assert kernel.select_op("rotary", "float32") is None


def test_configure_applies_the_platform_first_and_names_it(boot):
    class Other:
        name = "another"

        @hookimpl
        def kernelet_configure(self, config):
            assert config.cache.block_size == 8
            return (ConfigChange(path="scheduler.max_num_seqs", value=config.cache.block_size, reason="as many"),)

    kernel = boot(Plugin(), Other())
    config = kernel.configure(CONFIG)
    assert (config.cache.block_size, config.scheduler.max_num_seqs) == (8, 8)
    assert config.plugins.platform == "null"
    assert [(c.author, c.change.path) for c in kernel.config_changes] == [
        ("mine", "cache.block_size"),
        ("another", "scheduler.max_num_seqs"),
    ]


def test_configure_refuses_a_conflict_with_the_platform(boot):
    class Other:
        name = "another"

        @hookimpl
        def kernelet_configure(self, config):
            return (ConfigChange(path="cache.block_size", value=64, reason="larger"),)

    with pytest.raises(ConfigError, match=r"set to 8 by mine .* and to 64 by another"):
        boot(Plugin(), Other()).configure(CONFIG)


def test_configure_passes_on_what_cannot_work(boot):
    long = dataclasses.replace(CONFIG, model=dataclasses.replace(CONFIG.model, max_model_len=2000))
    with pytest.raises(ConfigError, match="too long for this platform"):
        boot(Plugin()).configure(long)


@pytest.mark.parametrize(
    "error, kind, message",
    [
        (ConfigError("no"), ConfigError, "plugin 'another': no"),
        (OSError("x"), PluginError, "OSError: x.*asked for by name"),
    ],
)
def test_configure_names_a_plugin_that_fails(boot, error, kind, message):
    class Other:
        name = "another"

        @hookimpl
        def kernelet_configure(self, config):
            raise error

    with pytest.raises(kind, match=message):
        boot(Plugin(), Other()).configure(CONFIG)


class Wants:
    """Asks for one change of the configuration."""

    name = "wants"

    def __init__(self, path, value):
        self.change = ConfigChange(path=path, value=value, reason="why not")

    @hookimpl
    def kernelet_configure(self, config):
        return (self.change,)


@pytest.fixture
def found(monkeypatch):
    """Makes a plugin one that is merely installed, not named."""

    def install(plugin):
        import json

        monkeypatch.setattr(json, plugin.name, plugin, raising=False)
        candidate = Candidate(name=plugin.name, entry_point=f"json:{plugin.name}", distribution="d", version="1")
        monkeypatch.setattr(start, "discover", lambda path: Discovery(candidates=(candidate,)))

    return install


def test_a_malformed_change_takes_an_installed_plugin_out(boot, found, caplog):
    found(Wants("cache.no_such_field", 1))
    kernel = boot(Plugin())
    with caplog.at_level(logging.WARNING):
        assert kernel.configure(CONFIG).cache.block_size == 8
    assert "wants asks to change 'cache.no_such_field'" in caplog.text
    assert next(r for r in kernel.reports if r.name == "wants").state == "failed"


def test_a_malformed_change_of_a_named_plugin_stops_the_start(boot):
    with pytest.raises(PluginError, match=r"cache.no_such_field.*asked for by name"):
        boot(Plugin(), Wants("cache.no_such_field", 1)).configure(CONFIG)


def test_a_conflict_stops_the_start_even_if_merely_installed(boot, found):
    found(Wants("cache.block_size", 64))
    with pytest.raises(ConfigError, match="to 64 by wants"):
        boot(Plugin()).configure(CONFIG)


def test_a_platform_that_fails_to_check_stops_the_start(boot, monkeypatch):
    monkeypatch.setattr(Config, "check_and_update_config", lambda self, config: 1 / 0)
    with pytest.raises(PluginError, match="ZeroDivisionError"):
        boot(Plugin()).configure(CONFIG)


def test_models(boot):
    kernel = boot(Plugin())
    assert kernel.model_source("tiny").resolve("tiny") == Path("/models/tiny")
    assert kernel.model_source("other") is None
    fields = {"vocab_size": 1, "max_model_len": 2, "num_layers": 3, "hidden_size": 4}
    owned, info = kernel.architecture(["TinyModel"], fields)
    assert (owned.plugin, info.num_layers) == ("mine", 3)


def test_requirements_and_conflicts_of_all_that_was_selected(boot):
    kernel = boot(Plugin())
    kernel.check_selected()
    kernel.select_op("rms_norm", "float32")
    with pytest.raises(SelectionError, match=r"op:norm .* requires op:dense, which was not selected"):
        kernel.check_selected()
    kernel.select_weight_kernel("linear", DENSE, "float32", (4, 8))
    kernel.check_selected()
    fields = {"vocab_size": 1, "max_model_len": 2, "num_layers": 3, "hidden_size": 4}
    kernel.architecture(["TinyModel"], fields)
    kernel.select(SchedulerOffer, "priority")
    with pytest.raises(SelectionError, match=r"model:TinyModel .* does not work together with executor:priority"):
        kernel.check_selected()


def test_no_core(boot):
    kernel = boot(Plugin(), block=("core",))
    with pytest.raises(
        SelectionError, match=r"No plugin offers a scheduling policy.\nPlugins that are not active:\n  core blocked"
    ):
        kernel.select(SchedulerOffer)


def test_from_manifest(boot, tmp_path):
    parent = boot()
    child = Kernel.from_manifest(parent.manifest, PluginsConfig(), search_path=[str(tmp_path)])
    assert child.role is ProcessRole.WORKER
    assert child.manifest == parent.manifest
