"""Run in the environment that holds a package of each kind; prints how many requests the stat logger wrote down."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from acme_model_demo.tiny import logits_of, write_checkpoint
from safetensors.torch import load_file

from kernelet import LLM, SamplingParams

PROMPTS = [[3, 1, 4, 1, 5, 9], [2, 6], [5, 3, 5, 8, 9, 7, 9, 3]]
ONCE = list(range(0, 61, 2))
"""Tokens that may be generated once."""


def greedy(folder, prompt, count, once=()):
    ids = list(prompt)
    for _ in range(count):
        logits = logits_of(folder, ids)[-1]
        logits[[token for token in ids[len(prompt) :] if token in once]] = -torch.inf
        ids.append(int(logits.argmax()))
    return ids[len(prompt) :]


def params(**arguments):
    return SamplingParams(temperature=0, max_tokens=12, ignore_eos=True, **arguments)


folder, lines = write_checkpoint(Path("checkpoint")), Path("lines.jsonl")
weights = load_file(folder / "model.safetensors")
(folder / "model.safetensors").rename("model.safetensors")
np.savez(folder / "model.npz", **{name: tensor.numpy() for name, tensor in weights.items()})
options = {
    "platform": "acme-demo",
    "load_format": "auto",
    "scheduling_policy": "acme-demo",
    "eviction_policy": "acme-demo",
    "logits_processors": ["acme-demo"],
    "attention_backend": {"full": "acme-demo"},
    "weight_kernel": {"linear": "acme-demo-dense", "embedding": "acme-demo-dense"},
    "block_size": 4,
    "num_blocks": 40,
    "set": {"stat-logger-acme-demo": {"file": str(lines)}},
}
with LLM(str(folder), **options) as llm:
    choices = {layer.choice for layer in llm.plan.layers}
    plain = llm.generate(PROMPTS, params())
    arguments = {"logits-processor-acme-demo": {"token_ids": ONCE}}
    changed = llm.generate(PROMPTS, params(extra_args=arguments))
assert {"acme-demo", "acme-demo-dense", "acme-demo-rms-norm"} <= choices, choices
Path("model.safetensors").rename(folder / "model.safetensors")
for prompt, one, other in zip(PROMPTS, plain, changed, strict=True):
    assert list(one.outputs[0].token_ids) == greedy(folder, prompt, 12)
    assert list(other.outputs[0].token_ids) == greedy(folder, prompt, 12, ONCE)
assert [one.outputs[0].token_ids for one in plain] != [one.outputs[0].token_ids for one in changed]
print("finished", sum(json.loads(line)["event"] == "request" for line in lines.read_text("utf-8").splitlines()))
