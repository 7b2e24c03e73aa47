from __future__ import annotations

import argparse

import pytest

from kernelet.cli.engine_options import add_engine_options, engine_arguments, flags_of, resolved_options
from kernelet.engine.options import OPTIONS


@pytest.fixture
def parse():
    parser = argparse.ArgumentParser()
    add_engine_options(parser)
    return lambda *arguments: parser.parse_args(arguments)


EXAMPLES = {
    "dtype": ["--dtype", "float32"],
    "max_model_len": ["--max-model-len", "100"],
    "load_seed": ["--load-seed", "3"],
    "load_format": ["--load-format", "safetensors"],
    "block_size": ["--block-size", "8"],
    "num_blocks": ["--num-blocks", "99"],
    "kv_cache_dtype": ["--kv-cache-dtype", "eight"],
    "kv_cache_memory_bytes": ["--kv-cache-memory-bytes", "4096"],
    "memory_utilization": ["--memory-utilization", "0.25"],
    "enable_prefix_caching": ["--no-enable-prefix-caching"],
    "quantization": ["--quantization", "int8"],
    "eviction_policy": ["--eviction-policy", "lru"],
    "max_num_seqs": ["--max-num-seqs", "4"],
    "max_num_batched_tokens": ["--max-num-batched-tokens", "64"],
    "enforce_eager": ["--enforce-eager"],
    "max_graph_capture_size": ["--max-graph-capture-size", "16"],
    "scheduling_policy": ["--scheduling-policy", "priority"],
    "tensor_parallel_size": ["--tensor-parallel-size", "2"],
    "distributed_executor_backend": ["--distributed-executor-backend", "in-process"],
    "communicator": ["--communicator", "gloo"],
    "platform": ["--platform", "cpu"],
    "attention_backend": ["--attention-backend", "full=a,b"],
    "weight_kernel": ["--weight-kernel", "k"],
    "logits_processors": ["--logits-processors", "a,b"],
    "io_processor_plugin": ["--io-processor-plugin", "ranker"],
    "tool_call_parser": ["--tool-call-parser", "auto"],
    "reasoning_parser": ["--reasoning-parser", "thoughts"],
    "enable_auto_tool_choice": ["--enable-auto-tool-choice"],
    "tool_parser_plugin": ["--tool-parser-plugin", "my.py"],
    "reasoning_parser_plugin": ["--reasoning-parser-plugin", "mine.py"],
    "structured_outputs_backend": ["--structured-outputs-backend", "e"],
    "structured_allowed_backends": ["--structured-allowed-backends", "e,f"],
    "structured_fallback": ["--structured-fallback", "validate"],
    "structured_disable_any_whitespace": ["--structured-disable-any-whitespace"],
    "structured_disable_additional_properties": ["--structured-disable-additional-properties"],
    "structured_max_whitespace": ["--structured-max-whitespace", "2"],
    "structured_in_reasoning": ["--structured-in-reasoning"],
    "structured_jump_forward": ["--no-structured-jump-forward"],
    "structured_max_bytes": ["--structured-max-bytes", "100"],
    "structured_max_depth": ["--structured-max-depth", "5"],
    "structured_max_nodes": ["--structured-max-nodes", "6"],
    "structured_max_repeat": ["--structured-max-repeat", "7"],
    "structured_max_enum": ["--structured-max-enum", "8"],
    "structured_max_expressions": ["--structured-max-expressions", "9"],
    "structured_compile_timeout": ["--structured-compile-timeout", "1.5"],
    "structured_compile_memory": ["--structured-compile-memory", "2097152"],
    "structured_compile_inline": ["--structured-compile-inline"],
    "structured_cache_bytes": ["--structured-cache-bytes", "0"],
    "structured_mask_timeout": ["--structured-mask-timeout", "0.5"],
    "kv_connector": ["--kv-connector", "a,b"],
    "kv_role": ["--kv-role", "producer"],
    "kv_transfer_config": [
        "--kv-transfer-config",
        '{"kv_connector": "a", "kv_connector_extra_config": {"b": [1, "c"]}}',
    ],
    "kv_load_failure_policy": ["--kv-load-failure-policy", "fail"],
    "kv_load_timeout": ["--kv-load-timeout", "1.5"],
    "kv_handover_timeout": ["--kv-handover-timeout", "60"],
    "kv_events_config": ["--kv-events-config", '{"enable_kv_cache_events": true}'],
    "plugins": ["--plugins", "a,+b"],
    "plugins_block": ["--plugins-block", "c"],
    "locked": ["--locked", __file__],
    "set": ["--set", "p.x=1", "--set", "p.y=2"],
    "engine_silence_timeout": ["--engine-silence-timeout", "20"],
    "engine_step_timeout": ["--engine-step-timeout", "60.5"],
    "log_stats": ["--log-stats"],
}


def test_there_is_an_example_of_every_option():
    assert set(EXAMPLES) == {spec.name for spec in OPTIONS}


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_option_has_a_flag(parse, name):
    options = parse(*EXAMPLES[name])
    assert set(engine_arguments(options)) == {name}
    resolved = resolved_options(options)
    spec = next(spec for spec in OPTIONS if spec.name == name)
    assert getattr(resolved.options, name) != spec.default
    assert resolved.sources[name] == spec.flag


def test_flags_can_be_written_again_for_another_process(parse):
    words = [word for example in EXAMPLES.values() for word in example]
    options = parse(*words, "--config", "/dev/null")
    again = parse(*flags_of(options))
    assert engine_arguments(again) == engine_arguments(options)
    assert again.config == "/dev/null"


def test_a_lock_file_is_named_or_the_usual_one(parse, capsys):
    assert resolved_options(parse("--locked")).options.locked == "kernelet.lock"
    assert resolved_options(parse(f"--locked={__file__}")).options.locked == __file__
    with pytest.raises(SystemExit):
        parse("--locked", "smollm2")
    assert "there is no lock file smollm2: write --locked alone last, or --locked=FILE" in capsys.readouterr().err


def test_nothing_given_is_nothing_set(parse):
    assert engine_arguments(parse()) == {}


def test_a_file_may_come_from_a_variable(parse, tmp_path, monkeypatch):
    (tmp_path / "o.toml").write_text("block_size = 4\n")
    monkeypatch.setenv("KERNELET_CONFIG", str(tmp_path / "o.toml"))
    assert resolved_options(parse()).options.block_size == 4


@pytest.mark.parametrize(
    "words", [["--block-size", "x"], ["--block-size", "0"], ["--dtype", "int8"], ["--set", "x"], ["--platform", ""]]
)
def test_a_value_that_the_option_does_not_take(parse, words, capsys):
    from kernelet.errors import ConfigError

    with pytest.raises((SystemExit, ConfigError)):
        resolved_options(parse(*words))
