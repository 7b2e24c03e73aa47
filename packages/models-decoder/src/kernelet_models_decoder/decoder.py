"""The decoder: one class for every row of the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torch import Tensor, nn

from kernelet.contracts.model import Hidden, StepInputs, WeightReader
from kernelet.errors import ConfigError
from kernelet.layers.attention import AttentionLayer
from kernelet.layers.context import ModelContext
from kernelet.layers.dtypes import wide
from kernelet.layers.embedding import Embedding, Head, TiedEmbedding
from kernelet.layers.rope_scaling import RopeParameters
from kernelet.layers.rotary import RopeTable
from kernelet.layers.step import Step
from kernelet.layers.weights import Finisher
from kernelet.loading.loader import fill
from kernelet_models_decoder.build import make_layer, make_norm
from kernelet_models_decoder.checkpoint import weight_map
from kernelet_models_decoder.resolve import resolve
from kernelet_models_decoder.row import Row
from kernelet_models_decoder.rows import row_of
from kernelet_models_decoder.spec import DecoderSpec


class DecoderModel(nn.Module):
    """A decoder-only model of one rank.

    Attributes:
        spec: What the row says of this model's config.json.
    """

    def __init__(self, context: ModelContext, row: Row | None = None) -> None:
        """Builds the layers; their weights are unset until ``load_weights``.

        Args:
            context: Configuration, dtype, device, ops, plugins and ranks.
            row: The architecture; by default that of ``context.config.architecture``.

        Raises:
            UnsupportedModelError: if the row does not serve the configuration.
            SelectionError: if no kernel serves a weight.
        """
        super().__init__()
        config = context.config
        self.spec = spec = resolve(row or row_of(config.architecture), config.hf_config)
        self.ops = context.ops
        self.embedding, self.head = _ends(context, spec)
        self.stack = tuple(make_layer(context, spec, index) for index in range(len(spec.layers)))
        self.layers = nn.ModuleList(self.stack)
        self.final_norm = make_norm(context, spec, spec.names.final_norm, spec.hidden_size)
        self.ropes = _tables(context, spec)

    def attention_layers(self) -> Sequence[AttentionLayer]:
        """All layers that own a cache, in order."""
        return [layer.attention for layer in self.stack]

    def load_weights(self, reader: WeightReader) -> Iterator[str]:
        """Loads every weight exactly once and prepares the kernels; yields each checkpoint name when it was consumed.

        Raises:
            WeightsError: a tensor is missing, unexpected or of another shape; the message names it.
        """
        outer = [self.embedding, self.final_norm, self.head]
        finisher = Finisher(self)
        yield from fill(reader, weight_map(self.spec, outer, self.stack), finisher.wrote)
        finisher.close()

    def forward(self, inputs: StepInputs) -> Hidden:
        """Runs one step."""
        if inputs.embeddings is not None:
            residual = inputs.embeddings
        elif inputs.token_ids is not None:
            residual = self.embedding.forward(inputs.token_ids)
        else:
            raise ConfigError("a step needs token ids or embeddings")
        residual = residual.to(wide(residual.dtype))
        step = Step(inputs.attention, {name: table.rows(inputs.positions) for name, table in self.ropes.items()})
        taps: dict[str, Tensor] = {}
        for layer in self.stack:
            residual = self.ops.decoder_layer(layer, residual, step)
            if inputs.taps and layer.attention.name in inputs.taps:
                taps[layer.attention.name] = residual
        return Hidden(states=self.final_norm.forward(residual), taps=taps)

    def compute_logits(self, states: Tensor) -> Tensor:
        """[rows, hidden] -> [rows, vocab_size], in the model's dtype."""
        return self.head.forward(states)


def _ends(context: ModelContext, spec: DecoderSpec) -> tuple[Embedding, Head]:
    kind = TiedEmbedding if spec.tied else Embedding
    embedding = kind(
        context,
        spec.names.embedding,
        spec.vocab_size,
        spec.hidden_size,
        scale=spec.embedding_scale,
        round_scale=spec.embedding_rounded,
    )
    head = Head(
        context,
        spec.names.head,
        spec.vocab_size,
        spec.hidden_size,
        bias=spec.head_bias,
        scale=spec.logits_scale,
        soft_cap=spec.final_soft_cap,
        tied=spec.tied,
    )
    if isinstance(embedding, TiedEmbedding):
        embedding.tie(head)
    return embedding, head


def _tables(context: ModelContext, spec: DecoderSpec) -> dict[str, RopeTable]:
    used = {layer.rope for layer in spec.layers}
    return {
        name: RopeTable(
            context,
            RopeParameters(
                scaling=rope.scaling,
                size=rope.size,
                theta=rope.theta,
                max_model_len=context.config.max_model_len,
                trained_len=rope.trained_len,
                options=rope.options,
            ),
            interleaved=spec.interleaved,
        )
        for name, rope in spec.ropes.items()
        if name in used
    }
