"""acme-steering from its wheel: text and log-probabilities of transformers with a hook that adds the same vector."""

from __future__ import annotations

import json

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


STEERED = {
    "first": ("full", "0", 2.0),
    "both": ("full", "0-1", -1.5),
    "windowed": ("windowed", "1", 40.0),
}


@pytest.fixture(scope="module")
def results(acme_by_name, folders, file, tmp_path_factory) -> dict[str, dict]:
    """What one process, started with each of the plugin's options in turn, made of the prompts."""
    house = tmp_path_factory.mktemp("wrong")
    save_file({"v": torch.ones(HIDDEN - 1)}, house / "short.safetensors")
    (house / "text").write_text("no vector")
    options, full = {"vector": file, "layers": "1"}, folders["full"]
    cases = {
        name: (folders[kind], NAMED, {"vector": file, "layers": layers, "strength": strength})
        for name, (kind, layers, strength) in STEERED.items()
    } | {
        "unnamed": (full, None, {}),
        "options alone": (full, None, options),
        "nothing": (full, NAMED, {}),
        "outside": (full, NAMED, options | {"layers": "0-2"}),
        "other model": (full, NAMED, options | {"vector": str(house / "short.safetensors")}),
        "no file": (full, NAMED, options | {"vector": str(house / "text")}),
        "unknown": (full, NAMED, options | {"strenght": 1}),
    }
    arguments = json.dumps([PROMPTS, TOKENS, list(cases.values())])
    found = json.loads(acme_by_name.run("-c", RUN, arguments, OMP_NUM_THREADS="1").splitlines()[-1])
    return dict(zip(cases, found, strict=True))


@pytest.mark.parametrize("name", STEERED)
def test_it_is_a_hook_that_adds_the_same_vector(results, folders, vector, name):
    kind, layers, strength = STEERED[name]
    added = {int(index): strength * vector.double() for index in layers.split("-")}
    plain, _ = truth(folders[kind], {})
    tokens, logprobs = truth(folders[kind], added)
    assert results[name]["choice"] == "acme-steering"
    assert results[name]["tokens"] == tokens
    assert tokens != plain, "the vector changes nothing, so nothing was shown"
    for mine, theirs in zip(results[name]["logprobs"], logprobs, strict=True):
        # norms of transformers are computed in float32
        torch.testing.assert_close(torch.tensor(mine, dtype=torch.float64), theirs, rtol=2e-6, atol=2e-6)


def test_it_runs_only_if_it_is_named(results, folders):
    assert results["unnamed"]["choice"] in {"decomposition", "native-decoder-layer"}
    assert results["unnamed"]["tokens"] == truth(folders["full"], {})[0]


@pytest.mark.parametrize(
    "name, said",
    [
        ("nothing", "acme-steering was named and acme-steering.layers is not set: --set acme-steering.layers="),
        ("outside", "acme-steering.layers names layer 2, but the model's are 0 to 1"),
        ("other model", f"has {HIDDEN - 1} elements, but the model's hidden size is {HIDDEN}"),
        ("no file", "/text cannot be read as a safetensors file"),
        ("unknown", "did you mean strength"),
        ("options alone", "--set acme-steering...: its ops do not run, they are opt-in and not named"),
    ],
)
def test_what_is_wrong_is_said_at_the_start(results, name, said):
    assert results[name]["error"].startswith("ConfigError: ")
    assert said in results[name]["error"]
