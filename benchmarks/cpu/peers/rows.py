"""The rows of the table, what each asks for, and the limit that the machine sets."""

from __future__ import annotations

from dataclasses import dataclass

BYTES_A_WEIGHT = {"bf16": 2.0, "int8": 1.0625, "q4_1": 0.625}
"""8 bits and a 16-bit scale for each 32 weights; 4 bits with a scale and an offset."""

BYTES_OF_HEAD = BYTES_A_WEIGHT | {"q4_1": 1.0625}
"""The same of the output head."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """So many prompts of so many tokens, so many tokens generated for each.

    Attributes:
        over_peers: How many times the best peer's rate is asked for.
        of_limit: Which part of the limit is asked for.
        over_transformers: How many times the rate of `transformers` is asked for.
    """

    name: str
    title: str
    precision: str
    prompts: int
    prompt_len: int
    output_len: int
    over_peers: float
    of_limit: float | None = None
    over_transformers: float | None = None

    @property
    def counted(self) -> int:
        """The tokens that the rate counts: generated ones, of a prompt row the prompt's."""
        return self.prompts * (self.prompt_len if self.output_len == 1 else self.output_len)


ROWS = (
    Row(
        name="1-bf16",
        title="1 request, 128 in, 128 out, bf16",
        precision="bf16",
        prompts=1,
        prompt_len=128,
        output_len=128,
        over_peers=1.3,
        of_limit=0.85,
        over_transformers=2.9,
    ),
    Row(
        name="1-int8",
        title="1 request, 128 in, 128 out, 8 bits",
        precision="int8",
        prompts=1,
        prompt_len=128,
        output_len=128,
        over_peers=1.4,
        of_limit=0.75,
    ),
    Row(
        name="1-q4_1",
        title="1 request, 128 in, 128 out, a Q4_1 file",
        precision="q4_1",
        prompts=1,
        prompt_len=128,
        output_len=128,
        over_peers=1.8,
    ),
    Row(
        name="16-bf16",
        title="16 requests, 128 in, 128 out, bf16",
        precision="bf16",
        prompts=16,
        prompt_len=128,
        output_len=128,
        over_peers=2.2,
        over_transformers=3.6,
    ),
    Row(
        name="16-int8",
        title="16 requests, 128 in, 128 out, 8 bits",
        precision="int8",
        prompts=16,
        prompt_len=128,
        output_len=128,
        over_peers=1.65,
    ),
    Row(
        name="16-q4_1",
        title="16 requests, 128 in, 128 out, a Q4_1 file",
        precision="q4_1",
        prompts=16,
        prompt_len=128,
        output_len=128,
        over_peers=2.5,
    ),
    Row(
        name="prompt-bf16",
        title="prompt of 1024, bf16",
        precision="bf16",
        prompts=1,
        prompt_len=1024,
        output_len=1,
        over_peers=2.2,
        over_transformers=2.7,
    ),
    Row(
        name="prompt-int8",
        title="prompt of 1024, 8 bits",
        precision="int8",
        prompts=1,
        prompt_len=1024,
        output_len=1,
        over_peers=1.65,
    ),
)

START = "start"
START_TITLE = "process start to first token, seconds"
START_GOAL = 3.0
"""Seconds."""

ROW_NAMES = (*(row.name for row in ROWS), START)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What was measured of the machine in the same run.

    Attributes:
        bandwidth: Bytes a second of a streaming read, all threads.
        rates: Multiply-adds of two operations each, a second, by element type: ``fp32``, ``int8``, ``bf16`` and
            ``fp16`` if any.
    """

    bandwidth: float
    rates: dict[str, float]

    def rate(self, precision: str) -> float:
        """The fastest arithmetic that keeps the accuracy: 8-bit products for 8-bit weights, else floats."""
        usable = ("fp32", "bf16", "fp16") if precision == "bf16" else ("fp32", "bf16", "fp16", "int8")
        return max(self.rates[kind] for kind in usable if kind in self.rates)


def best_of(one: Machine, other: Machine) -> Machine:
    """What a machine did at its best: whatever else ran meanwhile only takes away."""
    rates = {kind: max(one.rates[kind], other.rates[kind]) for kind in one.rates}
    return Machine(bandwidth=max(one.bandwidth, other.bandwidth), rates=rates)


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Elements of the matrices that a token is multiplied with: of the layers, and of the output head."""

    layers: int
    head: int


def limit(row: Row, machine: Machine, weights: Weights) -> float:
    """Counted tokens a second if only memory and arithmetic took time.

    One request: the weights are read once a token. Else a step is as slow as the slower of reading the weights and two
    operations a weight and token, a prompt's head for its last token only; attention and the cache are free.
    """
    every = weights.layers + weights.head
    stored = weights.layers * BYTES_A_WEIGHT[row.precision] + weights.head * BYTES_OF_HEAD[row.precision]
    read = stored / machine.bandwidth
    if row.prompts == 1 and row.output_len > 1:
        return 1 / read
    rate = machine.rate(row.precision)
    in_prompts = 2 * row.prompts * (row.prompt_len * weights.layers + weights.head)
    prefill = max(read, in_prompts / rate)
    decode = (row.output_len - 1) * max(read, 2 * row.prompts * every / rate)
    return row.counted / (prefill + decode)


def count_weights(config: dict[str, int]) -> Weights:
    """The weights of a Llama-shaped config.json."""
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    head_dim = config.get("head_dim") or hidden // heads
    attention = hidden * head_dim * (2 * heads + 2 * config.get("num_key_value_heads", heads))
    feed_forward = 3 * hidden * config["intermediate_size"]
    layers = config["num_hidden_layers"] * (attention + feed_forward)
    return Weights(layers=layers, head=hidden * config["vocab_size"])
