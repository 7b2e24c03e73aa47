"""GPT-2 (Radford et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from acme_model.attention import SelfAttention
from acme_model.checkpoint import fill
from acme_model.description import Shape, read
from acme_model.parts import Dense, Norm, Table, stream_dtype
from kernelet.contracts.model import Hidden, StepInputs, WeightReader
from kernelet.errors import UnsupportedModelError
from kernelet.layers.context import ModelContext


class Block(nn.Module):
    """Attention, then a feed-forward network, each behind a norm and added to the residual stream."""

    def __init__(self, context: ModelContext, shape: Shape, index: int) -> None:
        super().__init__()
        name = f"transformer.h.{index}"
        self.ops = context.ops
        self.activation = shape.activation
        self.ln_1 = Norm(context, shape.hidden, shape.eps)
        self.attn = SelfAttention(context, f"{name}.attn", shape.hidden, shape.heads, shape.scale_of(index))
        self.ln_2 = Norm(context, shape.hidden, shape.eps)
        self.mlp = nn.ModuleDict(
            {
                "c_fc": Dense(context, f"{name}.mlp.c_fc", shape.middle, shape.hidden),
                "c_proj": Dense(context, f"{name}.mlp.c_proj", shape.hidden, shape.middle),
            }
        )

    def forward(self, residual: Tensor, steps: Mapping[int, Any]) -> Tensor:
        """[tokens, hidden] -> the same."""
        residual = self.ops.add(residual, self.attn.forward(self.ln_1.forward(residual), steps), 1.0)
        # not the op `mlp`: an override of it may look into layers of the core, which these are not
        middle = self.ops.activation(self.mlp["c_fc"](self.ln_2.forward(residual)), self.activation)
        return self.ops.add(residual, self.mlp["c_proj"](middle), 1.0)


class GPT2(nn.Module):
    """``kernelet.contracts.model.Model``. Modules are called as in the checkpoint, so names need no table."""

    def __init__(self, context: ModelContext) -> None:
        """Makes the model of ``context.config``.

        Raises:
            UnsupportedModelError: the configuration is not served, or ranks are to share layers.
        """
        super().__init__()
        if context.parallel.size != 1:
            raise UnsupportedModelError("acme-model computes on one rank: use --tensor-parallel-size 1")
        shape = read(context.config.hf_config)
        self.shape = shape
        self.stream = stream_dtype(context.dtype)
        self.wte = Table(context, "transformer.wte", shape.vocab, shape.hidden)
        self.wpe = Table(context, "transformer.wpe", shape.positions, shape.hidden)
        self.h = nn.ModuleList([Block(context, shape, index) for index in range(shape.layers)])
        self.ln_f = Norm(context, shape.hidden, shape.eps)
        self.lm_head = Dense(context, "lm_head", shape.vocab, shape.hidden, bias=False, tied=shape.tied)

    def attention_layers(self) -> Sequence[SelfAttention]:
        return [block.attn for block in self.blocks()]

    def blocks(self) -> list[Block]:
        return [block for block in self.h if isinstance(block, Block)]

    def load_weights(self, reader: WeightReader) -> Iterator[str]:
        yield from fill(self, reader, tied=self.shape.tied)
        if self.shape.tied and self.wte.weight is not None:
            self.lm_head.use(self.wte.weight.data)
        for module in self.modules():
            if isinstance(module, Dense):
                module.finish()

    def forward(self, inputs: StepInputs) -> Hidden:
        rows = inputs.embeddings
        if rows is None:
            assert inputs.token_ids is not None, "a step has ids or embeddings"
            rows = self.wte.forward(inputs.token_ids)
        residual = rows.to(self.stream) + self.wpe.forward(inputs.positions).to(self.stream)
        taps: dict[str, Tensor] = {}
        for block in self.blocks():
            residual = block.forward(residual, inputs.attention)
            if block.attn.name in inputs.taps:
                taps[block.attn.name] = residual
        return Hidden(states=self.ln_f.forward(residual), taps=taps)

    def compute_logits(self, states: Tensor) -> Tensor:
        return self.lm_head.forward(states)
