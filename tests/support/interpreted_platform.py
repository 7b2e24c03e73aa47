"""The platform of GPUs on the host, with the attention of attention-triton, interpreted; as a script, it generates."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace

from kernelet.contracts.platform import Capabilities, PlatformOffer
from kernelet.hookspecs import hookimpl
from kernelet_device_torch.recorded_platform import RecordedPlatform
from kernelet_platform_cuda import plugin as own
from kernelet_platform_cuda.recorded import RecordedConfig


class InterpretedConfig(RecordedConfig):
    """The compiler's kernels run, though there is no device."""

    def capabilities(self) -> Capabilities:
        found = super().capabilities()
        return replace(found, features=found.features | {"triton"})

    def attention_order(self) -> tuple[str, ...]:
        return ("triton",)


class InterpretedPlatform(RecordedPlatform):
    @hookimpl
    def kernelet_platforms(self) -> Sequence[PlatformOffer]:
        (offer,) = super().kernelet_platforms()
        return (replace(offer, config="interpreted_platform:InterpretedConfig"),)


plugin = InterpretedPlatform(own, "kernelet_platform_cuda")


def main(options: dict) -> None:
    """Generates; prints texts, how decode steps and attention are computed, and how often graphs were replayed."""
    import torch

    from kernelet import LLM, SamplingParams

    prompts, count = options.pop("prompts"), options.pop("max_tokens")
    llm = LLM(options.pop("model"), plugins=["interpreted_platform:plugin"], platform="recorded", **options)
    found = llm.generate(prompts, SamplingParams(temperature=0.0, max_tokens=count))
    worker = llm._frontend.client._running.core._executor._worker
    layers = worker.get_plan().layers
    said = {
        "texts": [one.outputs[0].text for one in found],
        "tokens": [list(one.outputs[0].token_ids) for one in found],
        "attention": sorted({layer.choice for layer in layers if layer.role == "attention"}),
        "graphs": [layer.choice for layer in layers if layer.role == "graph"],
        "replays": [call.name for call in worker._device.calls].count("CUDAGraph.replay"),
        "initialized": torch.cuda.is_initialized(),
    }
    print(json.dumps(said))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
