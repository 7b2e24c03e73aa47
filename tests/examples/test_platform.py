"""acme-platform from its wheel: named, it computes with its own worker, attention and kernels, the text of the CPU."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import tiny_models
from environments import Environment

RANKS = 2
CASES = (("full", "float64"), ("full", "float32"), ("sliding", "float64"), ("windowed", "float64"))

GENERATE = """
import json, sys
from kernelet import LLM, SamplingParams
from kernelet.errors import KerneletError

PROMPTS = [[(7 * i * k + k) % 200 + 3 for i in range(length)] for k, length in enumerate((1, 30, 90, 41), start=1)]
PARAMS = SamplingParams(temperature=0.0, max_tokens=24, ignore_eos=True, detokenize=False)
OPTIONS = {"max_num_batched_tokens": 64, "block_size": 12, "max_model_len": 160, "num_blocks": 60}


def result(folder, platform, dtype, ranks=1):
    try:
        llm = LLM(folder, platform=platform, dtype=dtype, tensor_parallel_size=ranks, **OPTIONS)
    except KerneletError as error:
        return {"error": str(error)}
    with llm:
        outputs = llm.generate(PROMPTS, PARAMS, use_tqdm=False)
        return {
            "tokens": [output.outputs[0].token_ids for output in outputs],
            "chunked": llm.stats().num_chunked,
            "platform": llm.plan.platform,
            "block_size": llm.config.cache.block_size,
            "ops": {layer.name: layer.choice for layer in llm.plan.layers if layer.role == "op"},
            "others": sorted({layer.choice for layer in llm.plan.layers if layer.role != "op"}),
        }


print(json.dumps([result(*each) for each in json.loads(sys.argv[1])]))
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    kinds = {"full": tiny_models.full, "sliding": tiny_models.sliding, "windowed": tiny_models.windowed}
    return {name: str(make(tmp_path_factory.mktemp(name))) for name, make in kinds.items()}


@pytest.fixture(scope="module")
def results(acme_by_name: Environment, folders: dict[str, str]) -> list[dict]:
    """Of ``CASES``: acme's, then the CPU's."""
    wanted = [(folders[kind], platform, dtype) for kind, dtype in CASES for platform in ("acme", "cpu")]
    return json.loads(acme_by_name.run("-c", GENERATE, json.dumps(wanted), OMP_NUM_THREADS="1").splitlines()[-1])


def test_its_text_is_the_cpus_and_its_own_kernels_made_it(results):
    for acme, cpu in zip(results[:6:2], results[1:6:2], strict=True):
        assert acme["tokens"] == cpu["tokens"]
        assert len({tuple(tokens) for tokens in acme["tokens"]}) == 4, "all prompts have one answer"
        assert acme["chunked"] > 0
        assert (acme["platform"], cpu["platform"]) == ("acme", "cpu")
        assert (acme["block_size"], cpu["block_size"]) == (16, 12)
        assert (acme["ops"]["act_and_mul"], acme["ops"]["rms_norm"]) == ("acme-act-and-mul", "acme-rms-norm")
        assert acme["others"] == ["acme-attention", "acme-dense"]
        assert not any(choice.startswith("acme") for choice in [*cpu["ops"].values(), *cpu["others"]])


def test_its_ranks_meet_in_its_communicator(acme_by_name, tmp_path):
    """The same text from one rank of it and from several, and from several of the CPU through its communicator."""
    folder = str(tiny_models.full(tmp_path, vocab_size=208))
    wanted = [(folder, "acme", "float64", ranks) for ranks in (1, RANKS)]
    said = acme_by_name.run("-c", GENERATE, json.dumps(wanted), OMP_NUM_THREADS="1")
    one, several = json.loads(said.splitlines()[-1])
    assert several["tokens"] == one["tokens"]
    assert several["others"] == ["acme-attention", "acme-dense"]
    named = acme_by_name.run(
        *("-c", GENERATE, json.dumps([(folder, "cpu", "float64", RANKS)])),
        OMP_NUM_THREADS="1",
        KERNELET_COMMUNICATOR="acme-gloo",
    )
    (cpu,) = json.loads(named.splitlines()[-1])
    assert cpu["tokens"] == one["tokens"]


def test_a_layer_that_it_does_not_serve_is_refused_with_the_reason(results):
    acme, cpu = results[6:]
    assert len(cpu["tokens"]) == 4
    assert acme["error"].startswith("No attention backend for layers of kind sliding")
    assert "acme-attention: has no soft cap" in acme["error"]


def chosen(acme_by_name: Environment, folder: str, *arguments: str) -> list[str]:
    """The lines about platform and block size of what was decided."""
    shown = acme_by_name.kernelet("run", folder, "--print-config", *arguments)
    lines = [line for line in shown.splitlines() if line.startswith(("plugins.platform", "cache.block_size"))]
    return sorted(lines, reverse=True)


def test_it_runs_only_if_it_is_named(acme_by_name, folders):
    (line,) = chosen(acme_by_name, folders["full"])
    assert "cpu " in line and "the best of 2 that fit" in line
    platform, block_size = chosen(acme_by_name, folders["full"], "--platform", "acme", "--block-size", "12")
    assert "acme " in platform and "named; it is made of software" in platform
    assert "16" in block_size and "blocks are multiples of 8 tokens" in block_size


@pytest.fixture
def library(acme_by_name: Environment) -> Iterator[Path]:
    """The compiled library, which a test may take away."""
    path = acme_by_name.site / "acme_platform/kernels.abi3.so"
    content = path.read_bytes()
    yield path
    path.unlink(missing_ok=True)
    path.write_bytes(content)


def test_a_machine_without_the_library_gets_one_clear_error(acme_by_name, folders, library):
    library.unlink()
    said = acme_by_name.kernelet("run", folders["full"], "--prompt", "w5", "--platform", "acme", check=False)
    (line,) = said.splitlines()
    assert line.startswith("error: Platform 'acme' ")
    assert f"its compiled library is missing ({library}): take a wheel for this machine, or build one with pip" in line
    (unnamed,) = chosen(acme_by_name, folders["full"])
    assert "cpu " in unnamed and "the only one that fits" in unnamed


def test_a_library_that_was_made_for_something_else_gets_one_clear_error(acme_by_name, folders, library):
    library.unlink()
    library.write_bytes(b"made for another machine")
    said = acme_by_name.kernelet("run", folders["full"], "--prompt", "w5", "--platform", "acme", check=False)
    (line,) = said.splitlines()
    assert line.startswith("error: acme-platform cannot run: its compiled library does not load with torch ")
    assert "file too short" in line
    assert "build it with pip install --force-reinstall" in line
