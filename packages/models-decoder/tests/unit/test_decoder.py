from __future__ import annotations

import dataclasses

import pytest
import torch
from decoder_families import MAX_LEN
from decoder_harness import load_decoder

from kernelet.errors import ConfigError
from kernelet.layers.weights import weight_bytes
from kernelet.testing.model import PagedRun
from kernelet.testing.tensors import make_context
from kernelet_models_decoder.decoder import DecoderModel


@pytest.fixture
def run(made):
    case = made("gemma2")
    return PagedRun(load_decoder(case.folder, max_model_len=MAX_LEN), 1, MAX_LEN), case.sequences[0]


def inputs(run, ids, **changes):
    return dataclasses.replace(run.inputs({0: ids}), **changes)


@torch.inference_mode()
def test_embeddings_may_be_given_for_ids(run):
    paged, ids = run
    by_ids = paged.model.forward(inputs(paged, ids)).states
    rows = paged.model.embedding.forward(torch.tensor(ids))
    assert torch.equal(paged.model.forward(inputs(paged, ids, token_ids=None, embeddings=rows)).states, by_ids)


@torch.inference_mode()
def test_taps_are_outputs_of_layers(run):
    paged, ids = run
    names = [layer.name for layer in paged.model.attention_layers()]
    hidden = paged.model.forward(inputs(paged, ids, taps=frozenset({names[1], names[3]})))
    assert set(hidden.taps) == {names[1], names[3]}
    assert torch.equal(paged.model.final_norm.forward(hidden.taps[names[3]]), hidden.states)
    assert not torch.equal(hidden.taps[names[1]], hidden.taps[names[3]])


def test_a_step_without_ids_and_embeddings_is_refused(run):
    paged, ids = run
    with pytest.raises(ConfigError, match="token ids or embeddings"):
        paged.model.forward(inputs(paged, ids, token_ids=None))


def test_attention_layers_come_in_order(run):
    paged, _ = run
    assert [layer.name for layer in paged.model.attention_layers()] == [
        f"model.layers.{index}.self_attn" for index in range(4)
    ]


def test_every_layer_is_planned_and_counted(made):
    case = made("mixtral")
    context = make_context(case.config, architecture="MixtralForCausalLM", max_model_len=MAX_LEN)
    model = DecoderModel(context)
    planned = {plan.name for plan in context.layer_plans}
    assert {"model.embed_tokens", "lm_head", "model.layers.0.self_attn.qkv_proj"} <= planned
    assert len(planned) == len(context.layer_plans) == 2 + 4 * 5
    stored = (case.folder / "model.safetensors").stat().st_size
    assert 0.9 * stored < weight_bytes(model) < stored


def test_tables_are_made_for_ropes_in_use_only(made):
    assert set(load_decoder(made("gemma3").folder, max_model_len=9).ropes) == {"full_attention", "sliding_attention"}
    model = load_decoder(made("llama").folder, max_model_len=9)
    assert [table.table.shape[0] for table in model.ropes.values()] == [9]
