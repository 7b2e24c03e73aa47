"""acme-beam-search from its wheel: the sequences of transformers, and steps that hold the beams of one search."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tiny_models
import torch
import transformers

SEEDS = (1, 2, 3)
PROMPTS = [[(11 * i * k + k) % 200 + 3 for i in range(length)] for k, length in enumerate((1, 13, 40), start=1)]
STOPS = [5, 9, 17, 23, 42, 60, 77, 101, 150, 199]
CASES = [
    {"beam_width": 4, "max_tokens": 10, "ignore_eos": True},
    {"beam_width": 3, "max_tokens": 12, "stop_token_ids": STOPS},
    {"beam_width": 4, "max_tokens": 9, "stop_token_ids": STOPS, "length_penalty": 0.0, "early_stopping": "never"},
    {"beam_width": 3, "max_tokens": 14, "stop_token_ids": STOPS, "length_penalty": 2.0, "early_stopping": True},
    {"beam_width": 2, "max_tokens": 14, "stop_token_ids": STOPS, "length_penalty": -1.0},
]

SEARCH = """
import json, sys
from dataclasses import asdict
from acme_beam_search import BeamSearchParams, beam_search
from kernelet import LLM

folders, prompts, cases = json.loads(sys.argv[1])
options = {"dtype": "float64", "max_num_seqs": 8, "num_blocks": 60, "block_size": 8, "max_model_len": 80}
results, hits = [], 0
for folder in folders:
    with LLM(folder, scheduling_policy="beam-search", set={"platform-cpu": {"threads": 1}}, **options) as llm:
        results += [[asdict(one) for one in beam_search(llm, prompts, BeamSearchParams(**case))] for case in cases]
        hits += llm.stats().prefix_hits
print(json.dumps({"results": results, "hits": hits}))
"""


def model(folder: Path, seed: int) -> Path:
    """A tiny model of its own seed."""
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(**tiny_models.SHAPE, initializer_range=0.25)
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    tiny_models.save_tokenizer(folder)
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return [str(model(tmp_path_factory.mktemp("model"), seed)) for seed in SEEDS]


def truth(model: transformers.PreTrainedModel, prompt: list[int], case: dict) -> list[tuple[list[int], float]]:
    """Sequences and scores of transformers, best first."""
    eos = sorted(set(case.get("stop_token_ids", [])) | (set() if case.get("ignore_eos") else {1}))
    ids = torch.tensor([prompt])
    found = model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        do_sample=False,
        num_beams=case["beam_width"],
        num_return_sequences=case["beam_width"],
        max_new_tokens=case["max_tokens"],
        length_penalty=case.get("length_penalty", 1.0),
        early_stopping=case.get("early_stopping", False),
        eos_token_id=eos or None,
        pad_token_id=0,
        return_dict_in_generate=True,
        output_scores=True,
    )
    sequences = []
    for row, score in zip(found.sequences[:, len(prompt) :].tolist(), found.sequences_scores.tolist(), strict=True):
        end = next((place + 1 for place, token in enumerate(row) if token in eos), case["max_tokens"])
        sequences.append((row[:end], score))
    return sequences


def test_its_sequences_are_those_of_transformers(acme_by_name, folders):
    arguments = json.dumps([folders, PROMPTS, CASES])
    out = json.loads(acme_by_name.run("-c", SEARCH, arguments, OMP_NUM_THREADS="1").splitlines()[-1])
    results = iter(out["results"])
    reasons = set()
    for folder in folders:
        reference = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64)
        reference.generation_config.eos_token_id = None
        for case in CASES:
            for prompt, found in zip(PROMPTS, next(results), strict=True):
                expected = truth(reference, prompt, case)
                assert found["prompt_token_ids"] == prompt
                assert [entry["token_ids"] for entry in found["sequences"]] == [tokens for tokens, _ in expected]
                scores = [entry["score"] for entry in found["sequences"]]
                assert scores == pytest.approx([score for _, score in expected], rel=1e-4)
                reasons |= {(entry["finish_reason"], len(entry["token_ids"])) for entry in found["sequences"]}
    assert {reason for reason, _ in reasons} == {"stop", "length"}
    assert len({length for reason, length in reasons if reason == "stop"}) > 3
    assert out["hits"] > 0, "beams shared nothing"


ORDER = """
import json, random
from acme_beam_search.policy import PLUGIN, SearchOrder
from kernelet.config import CacheConfig, SchedulerConfig
from kernelet.contracts.offer import Settings
from kernelet.contracts.sampling import SamplerParams
from kernelet.testing.null.harness import null_core, null_engine_config, null_request

WIDTH, SEARCHES, STEPS = 4, 3, 6


def steps(policy):
    "Names of the requests of each step; every search takes up its next step once all its beams have their token."
    scheduler = SchedulerConfig(max_num_seqs=WIDTH, max_num_batched_tokens=512)
    config = null_engine_config(cache=CacheConfig(num_blocks=400), scheduler=scheduler)
    core, executor = null_core(config, policy=policy)
    generator, clock, left = random.Random(4), 0.0, {}

    def add(name, extra_args=None):
        nonlocal clock
        clock += 1.0
        params = SamplerParams(seed=0, temperature=0.0, extra_args=extra_args)
        prompt = [generator.randrange(200) for _ in range(9)]
        core.add_request(null_request(name, prompt, 1, params=params, arrival_time=clock))

    def beams(search, step, began):
        left[search] = [WIDTH, step, began]
        arguments = {PLUGIN: {"began": began, "search": search}}
        return [(f"search-{search}/{step}/{beam}", arguments) for beam in range(WIDTH)]

    waiting = [one for search in range(SEARCHES) for one in beams(search, 0, search / SEARCHES)]
    generator.shuffle(waiting)  # as when several clients send at once
    for index, one in enumerate(waiting):
        add(*one)
        if index % 3 == 0:
            add(f"other-{index}")
    while core.has_unfinished():
        for output in core.step():
            name = output.request_id.split("/")[0]
            if not name.startswith("search-"):
                continue
            search = int(name.removeprefix("search-"))
            left[search][0] -= 1
            _, step, began = left[search]
            if not left[search][0] and step + 1 < STEPS:
                for one in beams(search, step + 1, began):
                    add(*one)
                add(f"late-{search}-{step}")
    return [[entry.request_id for entry in plan.scheduled] for plan in executor.plans if plan.scheduled]


from kernelet.scheduler.policies import FCFSPolicy
orders = SearchOrder(Settings(plugin=PLUGIN)), FCFSPolicy(Settings(plugin="core"))
print(json.dumps([steps(policy) for policy in orders]))
"""


def test_beams_of_one_search_run_in_the_same_steps_and_earlier_searches_first(acme_by_name):
    together, by_arrival = json.loads(acme_by_name.run("-c", ORDER).splitlines()[-1])

    def groups(steps: list[list[str]]) -> list[set[str]]:
        """Of each step the searches in it, each with its own step; ordinary requests are one group."""
        return [{name.rpartition("/")[0] for name in step} for step in steps]

    expected = [{f"search-{search}/{step}"} for search in range(3) for step in range(6)]
    assert groups(together)[:18] == expected, "each step holds one search's beams, and a search ends before the next"
    assert all(group == {""} for group in groups(together)[18:]), "whoever came later comes after"
    mixed = [group for group in groups(by_arrival) if len(group) > 1]
    assert len(mixed) > 5, "in order of arrival they would be mixed"


def test_the_command(acme_by_name, folders):
    prompts = ("w5 w9 w77", "w8")
    reference = transformers.AutoModelForCausalLM.from_pretrained(folders[0], dtype=torch.float64)
    reference.generation_config.eos_token_id = None
    flags = [flag for prompt in prompts for flag in ("--prompt", prompt)]
    options = ("--beam-width", "3", "--max-tokens", "6", "--early-stopping", "true", "--json")
    engine = {"KERNELET_DTYPE": "float64", "KERNELET_MAX_MODEL_LEN": "64", "OMP_NUM_THREADS": "1"}
    out = acme_by_name.kernelet("beam-search", folders[0], *flags, *options, **engine)
    for prompt, line in zip(prompts, out.splitlines()[-2:], strict=True):
        found, ids = json.loads(line), [int(word[1:]) for word in prompt.split()]
        case = {"beam_width": 3, "max_tokens": 6, "early_stopping": True}
        assert [entry["token_ids"] for entry in found["sequences"]] == [t for t, _ in truth(reference, ids, case)]
        assert [entry["text"] for entry in found["sequences"]] == [
            " ".join(f"w{token}" for token in entry["token_ids"] if token > 1) for entry in found["sequences"]
        ]
    said = acme_by_name.kernelet("beam-search", folders[0], "--prompt", "x", "--beam-width", "0", check=False)
    assert said.splitlines() == ["error: beam_width: got 0, expected an integer of at least 1"]
