"""acme-steering from its wheel: text and log-probabilities of transformers with a hook that adds the same vector."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tiny_models
import torch
import transformers
from safetensors.torch import save_file

PROMPTS = [[(7 * i * k + k) % 200 + 3 for i in range(length)] for k, length in enumerate((1, 30, 77), start=1)]
TOKENS = 12
HIDDEN = tiny_models.SHAPE["hidden_size"]

RUN = """
import json, sys
from kernelet import LLM, SamplingParams
from kernelet.errors import KerneletError

prompts, tokens, cases = json.loads(sys.argv[1])
params = SamplingParams(temperature=0.0, max_tokens=tokens, ignore_eos=True, detokenize=False, logprobs=-1)


def result(folder, plugins, settings):
    options = {"dtype": "float64", "max_num_batched_tokens": 32, "max_model_len": 128, "num_blocks": 40}
    settings = {"platform-cpu": {"threads": 1}, "acme-steering": settings}
    try:
        llm = LLM(folder, plugins=plugins, platform="cpu", set=settings, **options)
    except KerneletError as error:
        return {"error": f"{type(error).__name__}: {error}"}
    with llm:
        outputs = [output.outputs[0] for output in llm.generate(prompts, params, use_tqdm=False)]
        (layer,) = [layer for layer in llm.plan.layers if layer.name == "decoder_layer"]
        return {
            "tokens": [output.token_ids for output in outputs],
            "logprobs": [
                [[position[token].logprob for token in sorted(position)] for position in output.logprobs]
                for output in outputs
            ],
            "choice": layer.choice,
        }


print(json.dumps([result(*case) for case in cases]))
"""

NAMED = ["+acme-steering"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    kinds = {"full": tiny_models.full, "windowed": tiny_models.windowed}
    return {name: str(make(tmp_path_factory.mktemp(name))) for name, make in kinds.items()}


@pytest.fixture(scope="module")
def vector(tmp_path_factory: pytest.TempPathFactory) -> torch.Tensor:
    return torch.randn(HIDDEN, generator=torch.Generator().manual_seed(5))


@pytest.fixture(scope="module")
def file(vector: torch.Tensor, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("vectors") / "vector.safetensors"
    save_file({"joy": vector}, path)
    return str(path)


def run(acme_by_name, cases: list) -> list[dict]:
    arguments = json.dumps([PROMPTS, TOKENS, cases])
    return json.loads(acme_by_name.run("-c", RUN, arguments, OMP_NUM_THREADS="1").splitlines()[-1])


def truth(folder: str, added: dict[int, torch.Tensor]) -> tuple[list[list[int]], list[torch.Tensor]]:
    """Greedy tokens and log-probabilities [tokens, vocab] of each prompt, with vectors added after layers."""
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64)

    def add(vector: torch.Tensor):
        return lambda _module, _inputs, output: output + vector

    for index, vector in added.items():
        model.model.layers[index].register_forward_hook(add(vector))
    tokens, logprobs = [], []
    for prompt in PROMPTS:
        ids = torch.tensor([prompt])
        with torch.no_grad():
            for _ in range(TOKENS):
                ids = torch.cat([ids, model(ids).logits[:, -1].argmax(-1, keepdim=True)], dim=1)
            logits = model(ids).logits[0, len(prompt) - 1 : -1]
        tokens.append(ids[0, len(prompt) :].tolist())
        logprobs.append(logits.log_softmax(-1))
    return tokens, logprobs


def test_its_own_tests_and_suites_pass(acme_by_name, own_tests):
    assert " passed" in own_tests(acme_by_name, "acme-steering")


def test_it_is_a_hook_that_adds_the_same_vector(acme_by_name, folders, vector, file):
    wanted = [
        ("full", "0", 2.0, {0: 2.0 * vector}),
        ("full", "0-1", -1.5, {0: -1.5 * vector, 1: -1.5 * vector}),
        ("windowed", "1", 40.0, {1: 40.0 * vector}),
    ]
    cases = [
        (folders[kind], NAMED, {"vector": file, "layers": layers, "strength": strength})
        for kind, layers, strength, _ in wanted
    ]
    for (kind, _, _, added), found in zip(wanted, run(acme_by_name, cases), strict=True):
        plain, _ = truth(folders[kind], {})
        tokens, logprobs = truth(folders[kind], {index: one.double() for index, one in added.items()})
        assert found["choice"] == "acme-steering"
        assert found["tokens"] == tokens
        assert tokens != plain, "the vector changes nothing, so nothing was shown"
        for mine, theirs in zip(found["logprobs"], logprobs, strict=True):
            # norms of transformers are computed in float32
            torch.testing.assert_close(torch.tensor(mine, dtype=torch.float64), theirs, rtol=2e-6, atol=2e-6)


def test_it_runs_only_if_it_is_named_and_then_tells_what_is_wrong(acme_by_name, folders, file, tmp_path):
    options = {"vector": file, "layers": "1"}
    short = str(tmp_path / "short.safetensors")
    save_file({"v": torch.ones(HIDDEN - 1)}, short)
    Path(tmp_path / "text").write_text("no vector")
    folder = folders["full"]
    unnamed, nothing, outside, other_model, no_file, unknown = run(
        acme_by_name,
        [
            (folder, None, options),
            (folder, NAMED, {}),
            (folder, NAMED, options | {"layers": "0-2"}),
            (folder, NAMED, options | {"vector": short}),
            (folder, NAMED, options | {"vector": str(tmp_path / "text")}),
            (folder, NAMED, options | {"strenght": 1}),
        ],
    )
    assert unnamed["choice"] == "decomposition"
    assert unnamed["tokens"] == truth(folder, {})[0]
    assert nothing["error"].startswith("ConfigError: acme-steering was named and acme-steering.layers is not set")
    assert outside["error"].startswith("ConfigError: ")
    assert outside["error"].endswith("acme-steering.layers names layer 2, but the model's are 0 to 1")
    assert f"has {HIDDEN - 1} elements, but the model's hidden size is {HIDDEN}" in other_model["error"]
    assert f"{tmp_path / 'text'} cannot be read as a safetensors file" in no_file["error"]
    assert "strenght" in unknown["error"]
    assert "did you mean strength" in unknown["error"]
