"""Each architecture against transformers, and each column of each row: changing it must show."""

from __future__ import annotations

import dataclasses

import pytest
import torch
import transformers
from decoder_families import LENGTHS, MAIN, MAX_LEN, MORE, TRAINED, WINDOW
from decoder_harness import load_decoder
from decoder_mutations import column_names, mutations

from kernelet.errors import KerneletError, UnsupportedModelError
from kernelet.testing.model import PagedRun, all_logits
from kernelet_models_decoder.fields import REQUIRED, Field
from kernelet_models_decoder.resolve import resolve
from kernelet_models_decoder.row import Rounded
from kernelet_models_decoder.rows import ROWS, row_of

TOLERANCE = 1e-4
CASES = [*MAIN, *MORE]


def worst(found, expected):
    return max((ours - theirs).abs().max().item() for ours, theirs in zip(found, expected, strict=True))


def test_prompts_are_longer_than_windows_and_original_contexts():
    assert max(LENGTHS) > 2 * WINDOW
    assert max(LENGTHS) > 2 * TRAINED
    assert len(set(LENGTHS)) == len(LENGTHS)


def test_every_row_has_a_case_of_both_forms():
    assert {family.architecture for family in MAIN.values()} == {row.architecture for row in ROWS}
    assert all(family.v4 is not None for family in MAIN.values())


@pytest.mark.parametrize("name", CASES)
def test_prefill_gives_the_logits_of_transformers(made, name):
    case = made(name)
    model = load_decoder(case.folder, max_model_len=MAX_LEN)
    assert case.logits[0].abs().max() > 1, "too flat to show a difference"
    assert worst(all_logits(model, case.sequences, chunk=MAX_LEN), case.logits) < TOLERANCE


@pytest.mark.parametrize("name", CASES)
def test_chunked_prefill_and_decode_give_the_same(made, name):
    case = made(name)
    model = load_decoder(case.folder, max_model_len=MAX_LEN)
    found = all_logits(model, case.sequences, chunk=5, prompts=[33, 4, 22])
    assert worst(found, case.logits) < TOLERANCE


@pytest.mark.parametrize("name", [name for name, family in {**MAIN, **MORE}.items() if family.v4 is not None])
def test_config_of_transformers_4_is_read(made, name):
    case = made(name, v4=True)
    model = load_decoder(case.folder, max_model_len=MAX_LEN)
    assert worst(all_logits(model, case.sequences, chunk=9), case.logits) < TOLERANCE


@pytest.mark.parametrize("name", ["llama", "gemma2", "gemma3", "gpt_neox", "mixtral"])
def test_float64_is_computed_in_float64(made, name):
    case = made(name)
    model = load_decoder(case.folder, max_model_len=MAX_LEN, dtype=torch.float64)
    once = all_logits(model, case.sequences, chunk=MAX_LEN)
    cut = all_logits(model, case.sequences, chunk=3, prompts=[20, 9, 1])
    assert once[0].dtype == torch.float64
    assert worst(once, cut) < 1e-12
    assert worst(once, case.logits) < TOLERANCE


@pytest.mark.parametrize("name", ["gemma2", "gemma3", "qwen2", "smollm3"])
def test_sliding_and_full_layers_have_their_own_cache_group(made, name):
    model = load_decoder(made(name).folder, max_model_len=MAX_LEN)
    windows = [getattr(spec, "window", None) for spec in PagedRun(model, 1, MAX_LEN).groups]
    assert sorted(windows, key=str) == [WINDOW, None]


def enumerated(row, config):
    """What columns of the row that a config.json decides are for it."""
    spec = resolve(row, config)
    found = {name: getattr(spec, name) for name in ("placement", "activation", "qkv_bias", "output_bias", "tied")}
    found["mlp.bias"] = spec.mlp is not None and spec.mlp.bias
    found["mlp.router"] = spec.experts and spec.experts.router
    all_slide = all(layer.window for layer in spec.layers)
    return found | {"head_bias": spec.head_bias, "all_slide": all_slide}


def shows(case, row):
    """Whether a row fails to give the logits of transformers, or does not take the checkpoint at all."""
    try:
        model = load_decoder(case.folder, max_model_len=MAX_LEN, row=row)
    except KerneletError:
        return True
    found = all_logits(model, case.sequences, chunk=MAX_LEN)
    return not worst(found, case.logits) < TOLERANCE


@pytest.mark.parametrize("name", MAIN)
def test_changing_any_column_shows(made, name):
    row = row_of(MAIN[name].architecture)
    tried, hidden = set(), []
    for v4 in (False, True):
        case = made(name, v4=v4)
        for mutation in mutations(row, enumerated(row, case.config)):
            if mutation.v4 == v4:
                tried.add(mutation.label.split("=")[0])
                if not shows(case, mutation.row):
                    hidden.append(mutation.label)
    holders = {"window": row.window, "mlp": row.mlp}
    expected = {
        column
        for column in column_names()
        if "." not in column or hasattr(holders[column.split(".")[0]], column.split(".")[1])
    }
    assert tried == expected
    assert hidden == []


@pytest.mark.parametrize("name", MAIN)
def test_changing_any_name_that_is_used_shows(made, name):
    case, row = made(name), row_of(MAIN[name].architecture)
    unused = []
    for field in dataclasses.fields(row.names):
        if field.name in {"attention", "ignored", "qkv_order"}:
            continue
        own = getattr(row.names, field.name)
        other = f"{own}x" if isinstance(own, str) else tuple(f"{part}x" for part in own)
        names = dataclasses.replace(row.names, **{field.name: other})
        if not shows(case, dataclasses.replace(row, names=names)):
            unused.append(field.name)
    assert len(unused) <= 10
    assert not {"embedding", "final_norm", "layer", "qkv", "output"} & set(unused)


def test_order_of_a_fused_projection_shows(made):
    for name, order in (("phi3", "interleaved"), ("gpt_neox", "stacked")):
        row = row_of(MAIN[name].architecture)
        changed = dataclasses.replace(row, names=dataclasses.replace(row.names, qkv_order=order))
        assert shows(made(name), changed)


@pytest.mark.parametrize("name", ["gemma2", "gemma3"])
def test_embedding_scale_is_rounded_to_the_dtype(made, name):
    case, row = made(name), row_of(MAIN[name].architecture)
    ids = torch.arange(60)
    table = load_decoder(case.folder, max_model_len=8).embedding.prepared.bfloat16()
    expected = table[ids] * torch.tensor(32**0.5).to(torch.bfloat16)
    rounded = load_decoder(case.folder, max_model_len=8, dtype=torch.bfloat16)
    assert torch.equal(rounded.embedding.forward(ids), expected)
    plain = dataclasses.replace(row, embedding_scale=row.embedding_scale.value)
    other = load_decoder(case.folder, max_model_len=8, dtype=torch.bfloat16, row=plain)
    assert not torch.equal(other.embedding.forward(ids), expected)


def fields_of(value):
    if isinstance(value, Field):
        yield value
    elif isinstance(value, Rounded):
        yield from fields_of(value.value)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from fields_of(getattr(value, field.name))


@pytest.mark.parametrize("name", MAIN)
def test_defaults_are_those_of_transformers(name):
    config = getattr(transformers, MAIN[name].config)()
    checked = 0
    for field in fields_of(row_of(MAIN[name].architecture)):
        for key in field.key.split("|"):
            if field.default is REQUIRED or not hasattr(config, key) or field.default is None:
                continue
            assert getattr(config, key) == field.default, key
            checked += 1
    assert checked >= 2


def test_rope_defaults_are_those_of_transformers():
    for family in MAIN.values():
        rope = getattr(transformers, family.config)().rope_parameters
        row = row_of(family.architecture)
        if isinstance(row.rope_theta, tuple):
            thetas = rope["full_attention"]["rope_theta"], rope["sliding_attention"]["rope_theta"]
            assert thetas == row.rope_theta
        else:
            assert rope["rope_theta"] == row.rope_theta
            assert rope.get("partial_rotary_factor", 1.0) == (row.rope_partial or 1.0)


def test_unknown_architecture_is_named():
    with pytest.raises(UnsupportedModelError, match="OtherForCausalLM"):
        row_of("OtherForCausalLM")


def test_architectures_are_unique():
    assert len({row.architecture for row in ROWS}) == len(ROWS)
