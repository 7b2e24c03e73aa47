"""The examples of docs/plugins/ do what their pages say, against an independent truth."""

from __future__ import annotations

import asyncio
import json
from itertools import product

import numpy as np
import pytest
import torch
from torch.nn import functional

from kernelet import LLM, SamplingParams
from kernelet.cache.groups import CORE_MANAGERS, group_manager
from kernelet.contracts.attention import AttentionBatch, AttentionSpec
from kernelet.contracts.cache import FullAttentionSpec
from kernelet.contracts.offer import Settings
from kernelet.contracts.op import DENSE
from kernelet.contracts.sampling import LogitsRow
from kernelet.contracts.serving import ServerContext
from kernelet.errors import ConfigError, ParameterError, SelectionError, UnsupportedModelError, WeightsError
from kernelet.testing.endpoint.asgi import Call, call
from kernelet.testing.null import NullPlugin, write_model
from kernelet.testing.null.engine import null_engine
from kernelet.testing.server.serving import serving

GREEDY = SamplingParams(temperature=0, max_tokens=6, ignore_eos=True)
NOTHING = Settings(plugin="p")


@pytest.fixture
def null_llm(tmp_path):
    """An engine without a device, with further plugins and options."""

    def make(*plugins, **options):
        folder = write_model(tmp_path / "null-model")
        return LLM(str(folder), plugins=[NullPlugin(), *plugins], platform="null", **options)

    return make


def test_life_cycle(example, null_llm):
    plugin = example("life-cycle")
    plain = null_llm()
    plain.shutdown()
    with null_llm(plugin.plugin, max_num_seqs=32, set={plugin.name: {"sequences": 4}}) as llm:
        assert llm.config.scheduler.max_num_seqs == 8
        assert llm.generate("hello", GREEDY)[0].outputs[0].token_ids
    kernel = plugin.boot(settings={plugin.name: {"mood": "busy"}})
    assert kernel.settings(plugin.name).values == {"sequences": 8, "mood": "busy"}
    assert [answer.value for answer in kernel.hooks.extra("kernelet_greetings")] == [("hello",)]
    with pytest.raises(ConfigError, match="calm, busy"):
        plugin.boot(settings={plugin.name: {"mood": "sad"}})
    with pytest.raises(ConfigError, match=r"/etc/tenants\.toml is missing"):
        plugin.load("tenants").check(kernel.settings(plugin.name))


def test_scheduling_policy(example, null_llm):
    plugin = example("executor")
    policy = plugin.load("policy").ShortestFirst

    class Request:
        def __init__(self, index, num_tokens):
            self.arrival_index, self.num_tokens, self.num_prompt_tokens = index, num_tokens, num_tokens

    requests = [Request(0, 9), Request(1, 3), Request(2, 3), Request(3, 5)]
    for longest, order in ((False, [1, 2, 3, 0]), (True, [0, 3, 1, 2])):
        made = policy(Settings(plugin="p", values={"longest_first": longest}))
        assert [one.arrival_index for one in sorted(requests, key=made.key)] == order
    before = made.key(requests[1])
    requests[1].num_tokens += 10
    assert made.key(requests[1]) == before
    with null_llm(plugin.plugin, scheduling_policy="shortest", distributed_executor_backend="watched") as llm:
        outputs = llm.generate(["a long prompt", "b"], GREEDY)
    with null_llm() as llm:
        plain = llm.generate(["a long prompt", "b"], GREEDY)
    assert [one.outputs[0].token_ids for one in outputs] == [one.outputs[0].token_ids for one in plain]


def test_communicator(example, tmp_path):
    made = example("executor").load("communicator").GlooCommunicator(NOTHING, 0, 1, f"file://{tmp_path}/rendezvous")
    x = torch.arange(6.0).view(2, 3)
    for operation in (made.all_reduce, made.all_gather, made.reduce_scatter, made.broadcast):
        assert torch.equal(operation(x.clone()), x)
    made.close()


def test_stat_logger(example, null_llm, tmp_path):
    plugin = example("stats")
    file = tmp_path / "out.jsonl"
    with null_llm(plugin.plugin, set={plugin.name: {"file": str(file)}}) as llm:
        llm.generate(["one", "two"], GREEDY)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(line["finish_reason"], line["num_output_tokens"]) for line in lines] == [("length", 6)] * 2
    assert all(line["steps"] >= 5 and line["model"] for line in lines)


def test_endpoint(example, tmp_path):
    made = example("serving").load("hello").Hello
    settings = Settings(plugin="p", values={"max_tokens": 6})

    async def main(engine):
        app = made(settings, engine).app
        return [await call(app, Call(path=path), "/proxy/hello") for path in ("", "/world")]

    with null_engine(tmp_path / "model") as engine:
        nothing, world = asyncio.run(main(engine))
        (truth,) = LLM.of(engine.frontend).generate(["world"], SamplingParams(temperature=0, max_tokens=6))
    assert (nothing.status, world.status) == (404, 200)
    assert world.body.decode() == truth.outputs[0].text


def test_server(example, tmp_path):
    module, settings = example("serving").load("lines"), Settings(plugin="p", values={"max_tokens": 6})

    async def main(engine):
        def make():
            return module.LineServer(settings, ServerContext(engine=engine, served_model_names=("m",)))

        async with serving(make, 60.0) as it:
            answers = []
            for line in (b"world\n", b"\n"):
                reader, writer = await asyncio.open_connection("127.0.0.1", it.port)
                writer.write(line)
                answers.append((await reader.read()).decode())
                writer.close()
                await writer.wait_closed()
            it.server.stop()
            assert await it.ended()
        return answers

    with null_engine(tmp_path / "model") as engine:
        world, nothing = asyncio.run(main(engine))
        (truth,) = LLM.of(engine.frontend).generate(["world"], SamplingParams(temperature=0, max_tokens=6))
    assert world == f"{truth.outputs[0].text!r}\n"
    assert nothing.startswith("error: the prompt")


def test_eviction_policy(example, null_llm):
    plugin = example("cache")
    policy = plugin.load("policy").NewestFirst(NOTHING, 10)
    for block in (5, 7, 9):
        policy.add(block)
    policy.remove(7)
    assert (len(policy), policy.evict(), policy.evict(), len(policy)) == (2, 9, 5, 0)
    with pytest.raises(IndexError):
        policy.evict()
    with pytest.raises(KeyError):
        policy.remove(7)
    with null_llm(plugin.plugin, eviction_policy="newest", num_blocks=300, block_size=16) as llm:
        assert llm.generate("hello " * 40, GREEDY)[0].outputs[0].token_ids


def test_group_manager(example):
    module = example("cache").load("chunked")
    block, chunk = 4, 6
    spec = module.ChunkedLocalSpec(block_size=block, page_bytes=1, num_kv_heads=1, head_size=1, dtype="f", chunk=chunk)
    manager = group_manager(spec, {**CORE_MANAGERS, "chunked_local": module.ChunkedLocalManager})

    def needed(tokens):
        """Blocks that the token after so many sees, by the definition of the kind."""
        return {position // block for position in range(tokens // chunk * chunk, tokens + 1)}

    for tokens in range(40):
        assert manager.first_kept_block(tokens) == min(needed(tokens))
        assert manager.num_blocks(tokens) == len({position // block for position in range(tokens)})
    for present in product((False, True), repeat=5):
        for most in range(6):
            fits = [n for n in range(min(5, most) + 1) if all(present[b] for b in needed(n * block) if b < n)]
            assert manager.longest_hit(present, most) == max(fits)
    for step, total in product(range(1, 12), range(1, 30)):
        held = max(
            manager.num_blocks(min(start + step, total)) - manager.first_kept_block(start) for start in range(total)
        )
        assert manager.peak_blocks(total, step) >= held
    with pytest.raises(TypeError):
        module.ChunkedLocalManager(
            FullAttentionSpec(block_size=4, page_bytes=1, num_kv_heads=1, head_size=1, dtype="f")
        )


def test_logits_processor(example):
    plugin = example("sampling")
    processor_class = plugin.load("processor").NoRepeat
    for wrong in ({"lats": 1}, {"last": -1}, {"last": True}, {"last": "2"}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            processor_class.validate_params(wrong)
    processor_class.validate_params({"last": 2})
    made = processor_class(NOTHING, 8)
    assert made.add_request("a", {"last": 2}, [1])
    assert not made.add_request("b", {}, [1])
    logits = torch.zeros(3, 8)
    made.apply(logits, [LogitsRow(index=2, request_id="a", prompt_token_ids=[1], output_token_ids=[3, 4, 5])])
    assert torch.equal(logits.isinf().nonzero(), torch.tensor([[2, 4], [2, 5]]))
    made.remove_request("a")
    made.remove_request("b")
    kernel = plugin.boot()
    assert next(report for report in kernel.reports if report.name == plugin.name).state == "active"  # handed over


def test_op_and_kernel(example):
    plugin = example("op")
    x, weight = torch.randn(5, 16, dtype=torch.float64), torch.randn(16, dtype=torch.float64)
    expected = x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight
    assert torch.allclose(plugin.load("ops").rms_norm(x, weight, 1e-5), expected)
    kernels = plugin.load("kernels")
    rows = torch.randn(6, 16)
    scales = rows.abs().amax(1) / 127
    weights = {"weight": (rows / scales[:, None]).round().to(torch.int8), "scales": scales}
    bias = torch.randn(6)
    kernel = kernels.PlainKernel(NOTHING, "linear", kernels.INT8_ROWS)
    x = torch.randn(3, 16)
    dequantized = weights["weight"].float() * scales[:, None]
    found = kernel.apply(x, kernel.prepare(weights), bias)
    assert torch.allclose(found, functional.linear(x, dequantized, bias), atol=1e-4)
    table = kernels.PlainKernel(NOTHING, "embedding", DENSE)
    assert torch.equal(table.apply(torch.tensor([4, 0]), table.prepare({"weight": rows}), None), rows[[4, 0]])
    assert kernels.PlainKernel.supports("linear", DENSE, "float32", (6, 16)).ok
    assert "int8 embedding" in kernels.PlainKernel.supports("embedding", kernels.INT8_ROWS, "float32", (6, 16)).reason


@pytest.mark.parametrize("window, soft_cap, with_sinks", [(None, None, False), (5, None, False), (5, 3.0, True)])
def test_attention(example, window, soft_cap, with_sinks):
    """Two requests, their blocks scattered, one computed in two steps, against attention written out by hand."""
    attention_class = example("attention").load("attention").ReferenceAttention
    spec = AttentionSpec(
        kind="full" if window is None else "sliding",
        num_heads=4,
        num_kv_heads=2,
        head_size=8,
        dtype="float64",
        block_size=4,
        scale=0.3,
        window=window,
        soft_cap=soft_cap,
        sinks=with_sinks,
    )
    attention = attention_class(spec, NOTHING)
    cache_spec = FullAttentionSpec(
        block_size=4, page_bytes=2 * 4 * 2 * 8 * 8, num_kv_heads=2, head_size=8, dtype="float64"
    )
    cache = attention.allocate_cache(cache_spec, 10, "cpu")
    assert not cache.any()
    assert cache.nbytes <= 10 * cache_spec.page_bytes
    lengths, tables = [11, 6], [[7, 2, 5], [3, 9, 0]]
    data = [[torch.randn(n, heads, 8, dtype=torch.float64) for heads in (4, 2, 2)] for n in lengths]
    sinks = torch.randn(4, dtype=torch.float64) if with_sinks else None
    outputs = [[], []]
    for start, end in (([0, 0], [7, 2]), ([7, 2], [11, 6])):
        counts = [b - a for a, b in zip(start, end, strict=True)]
        slots = [tables[r][p // 4] * 4 + p % 4 for r in (0, 1) for p in range(start[r], end[r])]
        batch = AttentionBatch(
            query_start_loc=np.array([0, counts[0], sum(counts)], dtype=np.int32),
            seq_lens=np.array(end, dtype=np.int32),
            block_table=np.array(tables, dtype=np.int32),
            slot_mapping=np.array(slots, dtype=np.int64),
        )
        query, key, value = (torch.cat([data[r][part][start[r] : end[r]] for r in (0, 1)]) for part in range(3))
        metadata = attention.build_metadata(batch, "cpu")
        attention.write_kv(key, value, cache, metadata)
        for r, rows in enumerate(attention.forward(query, cache, metadata, sinks).split(counts)):
            outputs[r].append(rows)
    for r in (0, 1):
        assert torch.allclose(torch.cat(outputs[r]), by_hand(spec, *data[r], sinks), atol=1e-12)
    before = cache.clone().view(2, 10, 4, 2, 8)
    attention.copy_blocks(cache, [7, 2], [2, 1])
    after = cache.view(2, 10, 4, 2, 8)
    assert torch.equal(after[:, 2], before[:, 7])
    assert torch.equal(after[:, 1], before[:, 2])


def by_hand(spec, query, key, value, sinks):
    result = torch.zeros_like(query)
    for p, head in product(range(len(query)), range(spec.num_heads)):
        first = 0 if spec.window is None else max(0, p - spec.window + 1)
        scores = key[first : p + 1, head // 2] @ query[p, head] * spec.scale
        if spec.soft_cap:
            scores = spec.soft_cap * torch.tanh(scores / spec.soft_cap)
        weights = scores.exp()
        total = weights.sum() + (0 if sinks is None else sinks[head].exp())
        result[p, head] = (weights / total) @ value[first : p + 1, head // 2]
    return result


@pytest.fixture
def tiny_model(tmp_path):
    """A folder of the architecture of docs/plugins/model.md, with its weights in float64."""
    config = {
        "architectures": ["TinyForCausalLM"],
        "vocab_size": 23,
        "hidden_size": 16,
        "num_attention_heads": 2,
        "num_hidden_layers": 1,
        "max_position_embeddings": 64,
        "dtype": "float64",
    }
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    shapes = {"embed": (23, 16), "q": (16, 16), "k": (16, 16), "v": (16, 16), "out": (16, 16), "head": (23, 16)}
    random = np.random.default_rng(3)
    weights = {f"{name}.weight": random.normal(size=shape) for name, shape in shapes.items()}
    np.savez(folder / "model.npz", **weights)
    return folder, {name: torch.from_numpy(value) for name, value in weights.items()}


def greedy_by_hand(weights, prompt, count):
    tokens = list(prompt)
    for _ in range(count):
        x = weights["embed.weight"][tokens]
        query, key, value = ((x @ weights[f"{n}.weight"].T).view(-1, 2, 8).transpose(0, 1) for n in "qkv")
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + mixed.transpose(0, 1).flatten(1) @ weights["out.weight"].T
        tokens.append(int((x[-1] @ weights["head.weight"].T).argmax()))
    return tokens[len(prompt) :]


PROMPTS = [[3, 1, 4, 1, 5, 9], [2, 6], [5, 3, 5, 8, 9, 7, 9, 3]]


def test_model_and_format(example, tiny_model):
    folder, weights = tiny_model
    plugin = example("model")
    reader = plugin.load("npz").NpzReader(folder)
    assert reader.names() == sorted(weights)
    assert reader.shape("q.weight") == (16, 16)
    assert torch.equal(reader.read("q.weight", slice(2, 5)), weights["q.weight"][2:5])
    assert reader.nbytes() == sum(value.nbytes for value in weights.values())
    with pytest.raises(WeightsError, match="nothing"):
        reader.read("nothing")
    with pytest.raises(UnsupportedModelError, match="num_hidden_layers"):
        plugin.load("description").describe({"num_hidden_layers": 2})
    with LLM(str(folder), plugins=[plugin.plugin], platform="cpu", block_size=4) as llm:
        outputs = llm.generate(PROMPTS, GREEDY)
    for prompt, output in zip(PROMPTS, outputs, strict=True):
        assert list(output.outputs[0].token_ids) == greedy_by_hand(weights, prompt, 6)


def test_the_examples_make_an_engine_together(example, tiny_model):
    """Model, platform, attention, op and kernel of four pages; nothing of the CPU platform."""
    folder, weights = tiny_model
    pages = {name: example(name).plugin for name in ("model", "platform", "attention", "op")}
    with LLM(str(folder), plugins=list(pages.values()), platform="toy", block_size=12) as llm:
        assert llm.config.cache.block_size == 16  # the platform's own change
        assert {plan.choice for plan in llm.plan.layers} >= {"reference", "plain", "fused-rms-norm"}
        outputs = llm.generate(PROMPTS, GREEDY)
    for prompt, output in zip(PROMPTS, outputs, strict=True):
        assert list(output.outputs[0].token_ids) == greedy_by_hand(weights, prompt, 6)
    without = [pages[name] for name in ("model", "platform", "op")]
    with pytest.raises(SelectionError, match="attention backend"):
        LLM(str(folder), plugins=without, platform="toy")


def test_ci_scripts(tmp_path, monkeypatch):
    import runpy

    from doc_examples import write_files
    from workspace import ROOT

    write_files(ROOT / "docs/plugins/ci.md", tmp_path)
    previous = runpy.run_path(str(tmp_path / "ci/previous_core.py"))["previous"]
    versions = (("0.1.0", "0.1"), ("0.2.3", "0.1"), ("1.0.1", "0.3"), ("1.4.0", "0.3"), ("1.4.0", "1.4"))
    assert [previous(installed, f'"kernelet-core>={lowest}"') for installed, lowest in versions] == [
        "kernelet-core==0.1.*",
        "kernelet-core==0.1.*",
        "kernelet-core==1.0.*",
        "kernelet-core==1.3.*",
        "kernelet-core==1.4.*",
    ]
    names = runpy.run_path(str(tmp_path / "ci/plugin_names.py"))["names"]
    assert names((ROOT / "packages/platform-cpu/pyproject.toml").read_text()) == "platform-cpu"
    test = runpy.run_path(str(tmp_path / "tests/test_with_the_null_platform.py"))["test_it_generates"]
    test(tmp_path)
