from __future__ import annotations

from kernelet.engine.option_values import read_option
from kernelet.engine.options import OPTIONS, EngineOptions


def test_the_table_has_every_field_with_its_default():
    defaults = EngineOptions()
    assert [spec.name for spec in OPTIONS] == list(vars(defaults))
    for spec in OPTIONS:
        assert spec.default == getattr(defaults, spec.name)
        assert spec.help


def test_every_default_is_a_value_that_the_option_takes():
    for spec in OPTIONS:
        read_option(spec, spec.default, "default")


def test_flag_and_variable_have_the_options_name():
    spec = next(spec for spec in OPTIONS if spec.name == "max_num_seqs")
    assert (spec.flag, spec.variable) == ("--max-num-seqs", "KERNELET_MAX_NUM_SEQS")


def test_two_sets_of_options_share_no_dictionary():
    assert EngineOptions().set is not EngineOptions().set
