from __future__ import annotations

import pytest

from kernelet.engine.option_sources import resolve_options
from kernelet.errors import ConfigError


def test_an_argument_beats_a_variable_which_beats_a_file_which_beats_the_default(tmp_path):
    file = tmp_path / "options.toml"
    file.write_text('block-size = 1\nmax_num_seqs = 2\nmax_num_batched_tokens = 3\ndtype = "float32"\n')
    environ = {"KERNELET_MAX_NUM_SEQS": "20", "KERNELET_MAX_NUM_BATCHED_TOKENS": "30", "OTHER": "x"}
    found = resolve_options({"max_num_batched_tokens": 300}, file, environ=environ, argument="--{flag}")
    options = found.options
    assert (options.block_size, options.max_num_seqs, options.max_num_batched_tokens) == (1, 20, 300)
    assert options.dtype == "float32"
    assert options.num_blocks is None
    assert found.sources["block_size"] == f"block_size in {file}"
    assert found.sources["max_num_seqs"] == "KERNELET_MAX_NUM_SEQS"
    assert found.sources["max_num_batched_tokens"] == "--max-num-batched-tokens"
    assert found.sources["num_blocks"] == "default"


def test_settings_of_plugins_are_merged_key_by_key(tmp_path):
    file = tmp_path / "options.toml"
    file.write_text("[set.platform-cpu]\nthreads = 1\nnuma = true\n")
    environ = {"KERNELET_SET": "platform-cpu.threads=2;other.x=1"}
    found = resolve_options({"set": ["platform-cpu.threads=3"]}, file, environ=environ)
    assert found.options.set == {"platform-cpu": {"threads": "3", "numa": True}, "other": {"x": "1"}}


def test_plugins_unset_is_all_and_empty_is_none():
    assert resolve_options({}, environ={}).options.plugins is None
    assert resolve_options({}, environ={"KERNELET_PLUGINS": ""}).options.plugins == ()
    assert resolve_options({}, environ={"KERNELET_PLATFORM": ""}).options.platform is None


def test_errors_name_their_source(tmp_path):
    with pytest.raises(ConfigError, match=r"^KERNELET_BLOCK_SIZE: got 'abc', expected an integer of at least 1"):
        resolve_options({}, environ={"KERNELET_BLOCK_SIZE": "abc"})
    with pytest.raises(ConfigError, match=r"^max_num_seqs: got 0"):
        resolve_options({"max_num_seqs": 0}, environ={})
    with pytest.raises(ConfigError, match="did you mean 'max_num_seqs'"):
        resolve_options({"max_num_seq": 1}, environ={})
    with pytest.raises(ConfigError, match="the options are dtype, "):
        resolve_options({"zzzzzz": 1}, environ={})
    with pytest.raises(ConfigError, match="cannot be read"):
        resolve_options({}, tmp_path / "missing.toml", environ={})
    broken = tmp_path / "broken.toml"
    broken.write_text("= 5")
    with pytest.raises(ConfigError, match="no TOML file"):
        resolve_options({}, broken, environ={})


@pytest.mark.parametrize("name", ["KERNELET_MAX_NUM_SEQ", "KERNELET_DTYP", "KERNELET_PLUGIN", "KERNELET_CACHE_DIRS"])
def test_a_misspelt_variable_is_an_error(name):
    with pytest.raises(ConfigError, match=f"{name} is no option: did you mean KERNELET_"):
        resolve_options({}, environ={name: "3"})


def test_variables_of_others_are_left_alone():
    environ = {
        "KERNELET_CACHE_DIR": "/x",
        "KERNELET_SOMEBODY_ELSES": "1",
        "KERNELETTE": "2",
        "KERNELET_MAX_NUM_SEQS": "5",
    }
    assert resolve_options({}, environ=environ).options.max_num_seqs == 5
