"""The tiny model: pre-norm attention with rotary positions, and a gated feed-forward network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torch import Tensor, nn

from kernelet.contracts.model import Hidden, StepInputs, WeightReader
from kernelet.errors import ConfigError
from kernelet.layers.attention import AttentionLayer, make_heads
from kernelet.layers.context import ModelContext
from kernelet.layers.embedding import Embedding, Head
from kernelet.layers.linear import MergedLinear, QKVLinear, RowParallelLinear
from kernelet.layers.mlp import GatedMLP
from kernelet.layers.norm import RMSNorm
from kernelet.layers.rope_scaling import RopeParameters
from kernelet.layers.rotary import RopeTable
from kernelet.layers.step import Step
from kernelet.layers.weights import Finisher, Layer, Shard
from kernelet.loading.loader import fill
from kernelet.loading.mapping import Target, WeightMap, plain, split
from kernelet.testing.tiny.description import ACTIVATION, Shape, read_shape

EPS = 1e-6
THETA = 10000.0
ROPE = "rope"


class TinyLayer(nn.Module):
    """One decoder layer."""

    def __init__(self, context: ModelContext, shape: Shape, index: int) -> None:
        super().__init__()
        name, hidden, size = f"layers.{index}", shape.hidden_size, shape.head_dim
        heads, middle = shape.num_attention_heads, shape.intermediate_size
        self.norm = RMSNorm(context, f"{name}.norm", Shard.whole(hidden), EPS)
        self.qkv = QKVLinear(
            context,
            f"{name}.qkv",
            hidden,
            num_heads=heads,
            num_kv_heads=shape.num_key_value_heads,
            head_size=size,
            sources=[f"{name}.{part}" for part in ("q", "k", "v")],
        )
        self.output = RowParallelLinear(context, f"{name}.out", heads * size, hidden)
        self.attention = AttentionLayer(
            context,
            f"{name}.attention",
            qkv=self.qkv,
            output=self.output,
            heads=make_heads(self.qkv, size, None, whole=False, clip=None),
            scale=size**-0.5,
            rope=ROPE,
            window=shape.window(index),
        )
        self.mlp_norm = RMSNorm(context, f"{name}.mlp_norm", Shard.whole(hidden), EPS)
        self.gate_up = MergedLinear(
            context,
            f"{name}.gate_up",
            hidden,
            {"gate": middle, "up": middle},
            sources=[f"{name}.{part}" for part in ("gate", "up")],
        )
        self.down = RowParallelLinear(context, f"{name}.down", middle, hidden)
        self.mlp = GatedMLP(context, f"{name}.mlp", gate_up=self.gate_up, down=self.down, activation=ACTIVATION)

    def forward(self, residual: Tensor, step: Step) -> Tensor:
        """[tokens, hidden] -> the same."""
        residual = residual + self.attention.forward(self.norm.forward(residual), step)
        return residual + self.mlp.forward(self.mlp_norm.forward(residual))


class TinyModel(nn.Module):
    """A decoder of a few layers."""

    def __init__(self, context: ModelContext) -> None:
        super().__init__()
        shape = read_shape(context.config.hf_config)
        self.embedding = Embedding(context, "embed", shape.vocab_size, shape.hidden_size)
        self.stack = tuple(TinyLayer(context, shape, index) for index in range(len(shape.layer_types)))
        self.layers = nn.ModuleList(self.stack)
        self.final_norm = RMSNorm(context, "final_norm", Shard.whole(shape.hidden_size), EPS)
        self.head = Head(context, "head", shape.vocab_size, shape.hidden_size)
        parameters = RopeParameters(
            scaling="default",
            size=shape.head_dim,
            theta=THETA,
            max_model_len=context.config.max_model_len,
            trained_len=shape.max_position_embeddings,
        )
        self.rope = RopeTable(context, parameters)

    def attention_layers(self) -> Sequence[AttentionLayer]:
        return [layer.attention for layer in self.stack]

    def load_weights(self, reader: WeightReader) -> Iterator[str]:
        finisher = Finisher(self)
        yield from fill(reader, WeightMap(targets=self.targets()), finisher.wrote)
        finisher.close()

    def targets(self) -> dict[str, Target]:
        """Where each tensor of the checkpoint goes."""
        whole: list[Layer] = [self.embedding, self.final_norm, self.head]
        found: dict[str, Target] = {}
        for index, layer in enumerate(self.stack):
            whole += [layer.norm, layer.output, layer.mlp_norm, layer.down]
            found |= split(layer.qkv.weight, [f"layers.{index}.{part}.weight" for part in ("q", "k", "v")])
            found |= split(layer.gate_up.weight, [f"layers.{index}.{part}.weight" for part in ("gate", "up")])
        for one in whole:
            for weight in one.weights():
                found |= plain(weight, weight.name)
        return found

    def forward(self, inputs: StepInputs) -> Hidden:
        residual = inputs.embeddings
        if residual is None:
            if inputs.token_ids is None:
                raise ConfigError("a step needs token ids or embeddings")
            residual = self.embedding.forward(inputs.token_ids)
        step = Step(inputs.attention, {ROPE: self.rope.rows(inputs.positions)})
        taps: dict[str, Tensor] = {}
        for layer in self.stack:
            residual = layer.forward(residual, step)
            if layer.attention.name in inputs.taps:
                taps[layer.attention.name] = residual
        return Hidden(states=self.final_norm.forward(residual), taps=taps)

    def compute_logits(self, states: Tensor) -> Tensor:
        return self.head.forward(states)
