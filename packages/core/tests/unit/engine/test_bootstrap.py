from __future__ import annotations

import json
import logging
import subprocess
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from kernelet.config import PluginsConfig
from kernelet.contracts.executor import SchedulerOffer, SchedulingPolicy
from kernelet.contracts.lifecycle import ConfigChange, PluginOptions, ProcessRole
from kernelet.contracts.model import ModelSourceOffer
from kernelet.contracts.offer import Option
from kernelet.contracts.sampling import SamplingParams
from kernelet.contracts.stats import StatLoggerOffer
from kernelet.contracts.structured import GrammarEngineOffer
from kernelet.engine.bootstrap import (
    Once,
    boot_kernel,
    configure_engine,
    find_model,
    helper_plugins,
    start,
    start_engine,
    take_objects,
)
from kernelet.engine.option_sources import resolve_options
from kernelet.engine.options import EngineOptions
from kernelet.errors import (
    ConfigError,
    InsufficientMemoryError,
    ModelNotFoundError,
    ParameterError,
    PluginError,
    SelectionError,
    TokenizerError,
    UnknownPluginError,
    UnsupportedModelError,
)
from kernelet.hookspecs import hookimpl
from kernelet.kernel import Kernel, Manifest
from kernelet.testing.null.model import null_config, write_model
from kernelet.testing.null.plugin import NullPlugin

PLUGIN = "kernelet.testing.null:plugin"


def configure(folder, **arguments):
    options = {"plugins": ["core", PLUGIN], "platform": "null", **arguments}
    return configure_engine(str(folder), resolve_options(options, environ={}))


def test_options_become_the_configuration(null_folder):
    config = configure(
        null_folder,
        max_model_len=100,
        block_size=4,
        num_blocks=50,
        max_num_seqs=3,
        max_num_batched_tokens=20,
        enable_prefix_caching=False,
        scheduling_policy="priority",
    ).config
    assert (config.model.max_model_len, config.model.dtype) == (100, "float32")
    assert (config.cache.block_size, config.cache.num_blocks, config.cache.enable_prefix_caching) == (4, 50, False)
    assert (config.scheduler.max_num_seqs, config.scheduler.max_num_batched_tokens) == (3, 20)
    assert config.scheduler.policy == "priority"
    assert config.plugins.platform == "null"


class Unmakeable:
    name = "unmakeable"

    def __init__(self, target):
        self.target = target

    @hookimpl
    def kernelet_stat_loggers(self):
        return (StatLoggerOffer(name="broken", target=self.target, api="2.0"),)


@pytest.mark.parametrize("target", ["no_such_module:Logger", "kernelet.contracts.stats:StatLogger"])
def test_a_stat_logger_that_cannot_be_made_and_was_named_stops_the_start(null_folder, target):
    options = resolve_options({"plugins": ["core", PLUGIN], "platform": "null"}, environ={})
    with pytest.raises(PluginError, match="unmakeable"):
        start(configure_engine(str(null_folder), options, [Unmakeable(target)]))


class Disagreeing:
    name = "disagreeing"

    @hookimpl
    def kernelet_schedulers(self):
        target = "kernelet.scheduler.policies:FCFSPolicy"
        return (
            SchedulerOffer(name="against-lru", target=target, priority=-1, conflicts=("cache:lru",)),
            SchedulerOffer(name="for-lru", target=target, priority=-2, requires=("cache:lru",)),
        )


def test_everything_that_is_selected_must_go_together(null_folder):
    """Also what the core selects after the executor has started."""
    options = {"plugins": ["core", PLUGIN], "platform": "null"}

    def begin(policy):
        resolved = resolve_options({**options, "scheduling_policy": policy}, environ={})
        return start(configure_engine(str(null_folder), resolved, [Disagreeing()]))

    with pytest.raises(SelectionError, match=r"executor:against-lru .* does not work together with cache:lru"):
        begin("against-lru")
    begin("for-lru").close()


class Late(SchedulingPolicy):
    """Who says so comes later."""

    @classmethod
    def validate_params(cls, arguments):
        if set(arguments) != {"late"}:
            raise ParameterError("late", "say how late")

    def key(self, request):
        return (request.extra_args.get("orders", {}).get("late", 0),)


class Orders:
    name = "orders"

    @hookimpl
    def kernelet_schedulers(self):
        here = f"{__name__}:Late"
        return (
            SchedulerOffer(name="late", target=here, priority=-1, takes_extra_args=True),
            SchedulerOffer(name="deaf", target=here, priority=-2),
        )


@pytest.mark.parametrize(
    "policy, arguments, error",
    [
        ("late", {"late": 3}, None),
        ("late", {"soon": 3}, "late: say how late"),
        ("deaf", {"late": 3}, "'orders' .*is no active plugin that takes arguments .*--scheduling-policy"),
        ("fcfs", {"late": 3}, "'orders' .*is no active plugin that takes arguments"),
    ],
)
def test_an_order_that_takes_arguments_checks_them(null_folder, monkeypatch, policy, arguments, error):
    monkeypatch.setitem(sys.modules, __name__, SimpleNamespace(Late=Late))
    options = {"plugins": ["core", PLUGIN], "platform": "null", "scheduling_policy": policy}
    configured = configure_engine(str(null_folder), resolve_options(options, environ={}), [Orders()])
    frontend = start(configured)
    try:
        params = SamplingParams(extra_args={"orders": arguments})
        with nullcontext() if error is None else pytest.raises(ParameterError, match=error):
            request = frontend.input_processor.prepare([1, 2], params, request_id="a")
            assert request.choices[0].params.extra_args == {"orders": arguments}
    finally:
        frontend.close()


def test_plugins_may_change_it_and_are_recorded(null_folder):
    class Changer:
        name = "changer"

        @hookimpl
        def kernelet_configure(self, config):
            return (ConfigChange(path="cache.block_size", value=8, reason="eight is nice"),)

    options = resolve_options({"plugins": ["core", PLUGIN], "platform": "null"}, environ={})
    configured = configure_engine(str(null_folder), options, [Changer()])
    assert configured.config.cache.block_size == 8
    (recorded,) = configured.kernel.config_changes
    assert (recorded.author, recorded.change.reason) == ("changer", "eight is nice")


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"max_model_len": 257}, ConfigError, "made for 256"),
        ({"platform": "nope"}, Exception, "nope"),
        ({"plugins": ["core", "no-such-plugin"]}, UnknownPluginError, "no-such-plugin"),
        ({"logits_processors": ["nope"]}, Exception, "nope"),
        ({"set": {"nobody": {"x": 1}}}, ConfigError, "nobody"),
    ],
)
def test_what_does_not_fit_stops_the_start(null_folder, arguments, error, message):
    with pytest.raises(error, match=message):
        start_engine(str(null_folder), {"plugins": ["core", PLUGIN], "platform": "null", **arguments})


def test_an_architecture_that_nobody_serves(tmp_path, null_options):
    folder = write_model(tmp_path, null_config() | {"architectures": ["OtherForCausalLM"]})
    with pytest.raises(UnsupportedModelError, match="OtherForCausalLM"):
        start_engine(str(folder), null_options)


def test_a_damaged_tokenizer_is_an_error_and_none_is_fine(tmp_path, null_options):
    folder = write_model(tmp_path)
    (folder / "tokenizer.json").write_text("{")
    with pytest.raises(TokenizerError):
        start_engine(str(folder), null_options)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(TokenizerError):
        start_engine(str(folder), null_options)
    (folder / "tokenizer_config.json").unlink()
    frontend = start_engine(str(folder), null_options)
    assert frontend.tokenizer is None
    frontend.close()


def test_too_little_memory_tells_the_largest_context(null_folder, null_options):
    with pytest.raises(InsufficientMemoryError, match="largest context that fits is"):
        start_engine(str(null_folder), {**null_options, "kv_cache_memory_bytes": 2000})


def test_a_model_without_a_name_or_place(null_options):
    with pytest.raises(ConfigError, match="empty text"):
        start_engine("", null_options)
    with pytest.raises(ModelNotFoundError, match="does not exist"):
        start_engine("/no/such/folder", null_options)


def test_plugins_hear_of_the_engines_life(null_folder):
    heard = []

    class Listener(NullPlugin):
        name = "listener"

        @hookimpl
        def kernelet_process_started(self, role, rank):
            heard.append(f"process started {role} {rank}")

        @hookimpl
        def kernelet_engine_started(self):
            heard.append("engine started")

        @hookimpl
        def kernelet_engine_stopped(self):
            heard.append("engine stopped")

        @hookimpl
        def kernelet_process_stopped(self, role, rank):
            heard.append(f"process stopped {role} {rank}")

    frontend = start_engine(str(null_folder), {"plugins": ["core", Listener()], "platform": "null"})
    frontend.close()
    frontend.close()
    assert heard == ["process started frontend 0", "engine started", "engine stopped", "process stopped frontend 0"]


def test_plugin_objects_are_told_from_names():
    thing = object()
    assert take_objects({"plugins": ["a", thing], "dtype": "auto"}) == ({"plugins": ["a"], "dtype": "auto"}, (thing,))
    assert take_objects({"plugins": [thing]}) == ({}, (thing,))
    assert take_objects({"plugins": []}) == ({"plugins": []}, ())
    assert take_objects({"plugins": "a,b"}) == ({"plugins": "a,b"}, ())


def test_helpers_load_grammar_engines_alone():
    """What an operator says to other plugins is nothing to them, and may not keep them from starting."""

    class Other:
        name = "other"

        @hookimpl
        def kernelet_options(self):
            return PluginOptions(schema={"size": Option(type=int, default=1)})

    config = PluginsConfig(allow=("core",), settings={"other": {"size": "2"}})
    kernel = Kernel.boot(config, plugins=["grammar_plugin:PLUGIN", Other()])
    given = helper_plugins(kernel)
    manifest = Manifest.decode(given.manifest)
    assert [entry.entry_point for entry in manifest.plugins] == ["grammar_plugin:PLUGIN"]
    assert Kernel.from_manifest(manifest, given.config, role=ProcessRole.HELPER).offers(GrammarEngineOffer)


def test_import_strings_alone_keep_the_default_plugins():
    reports = boot_kernel(EngineOptions(plugins=(PLUGIN,))).reports
    assert {"core", PLUGIN} <= {report.name for report in reports if report.state == "active"}


def test_a_models_folder_is_found(null_folder):
    assert find_model(str(null_folder), boot_kernel(EngineOptions(plugins=("core",)))) == null_folder.resolve()


class Files:
    @hookimpl
    def kernelet_model_sources(self):
        return (ModelSourceOffer(name="kit", target="a:B", models={"named": ""}, patterns=("*.kit",)),)


def test_a_file_that_is_not_there(tmp_path):
    kernel = boot_kernel(EngineOptions(plugins=("core",)), [Files()])
    with pytest.raises(ModelNotFoundError, match=r"there is no file '.*absent\.kit'$"):
        find_model(str(tmp_path / "absent.kit"), kernel)
    with pytest.raises(ModelNotFoundError, match=r"known: files \*\.kit, named\).* does not exist"):
        find_model(str(tmp_path / "absent"), kernel)


def test_statistics_are_logged_if_asked_for(null_folder, null_options):
    log = logging.getLogger("kernelet.engine.stats")
    before = log.level
    try:
        start_engine(str(null_folder), {**null_options, "log_stats": True}).close()
        assert log.level == logging.INFO
    finally:
        log.setLevel(before)


def test_once_is_once():
    calls = []
    once = Once(lambda: calls.append("first"), lambda: calls.append("then"))
    once()
    once()
    assert calls == ["first", "then"]


def test_a_whole_engine_runs_where_torch_cannot_be_imported(null_folder):
    program = f"""
import sys
sys.modules["torch"] = None
from kernelet import LLM, SamplingParams
with LLM({str(null_folder)!r}, plugins=["core", {PLUGIN!r}], platform="null") as llm:
    (output,) = llm.generate("hello", SamplingParams(temperature=0.0, max_tokens=3))
import json
print(json.dumps(output.outputs[0].token_ids))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    from kernelet.contracts.sampling import SamplerParams
    from kernelet.testing.null.tokens import generate

    assert json.loads(done.stdout) == generate(list(b"hello"), SamplerParams(seed=0, temperature=0.0), 260, 3)


def test_events_need_an_address_and_give_it_back(null_folder, tmp_path):
    def start_with(**fields):
        events = {"enable_kv_cache_events": True, "endpoint": f"ipc://{tmp_path}/e", **fields}
        return start(configure(null_folder, kv_events_config=events))

    with pytest.raises(ConfigError, match=r"--kv-events-config: endpoint .*choose another"):
        start_with(endpoint=f"ipc://{tmp_path}/no/such/folder")
    for _ in range(2):
        start_with().close()
