"""Writers of the kit's 4-bit format, as a plugin: rounded, calibrated layer by layer, and one that fails midway."""

from __future__ import annotations

import torch

from kernelet.contracts.offer import Option
from kernelet.contracts.quant import QuantizerOffer, QuantOffer
from kernelet.contracts.quantizing import Quantizer
from kernelet.hookspecs import hookimpl
from kernelet.testing.quantization.reference import GROUP, PLAIN4


class Plain4Writer(Quantizer):
    """Rounds to the nearest."""

    def write(self, source, folder, progress):
        source.save(folder, self.made(source), self.config(source), progress)

    def config(self, source):
        return {"quant_method": PLAIN4, "skip": [one.name for one in source.layers if self.skips(source, one)]}

    def skips(self, source, layer):
        return source.excluded(layer) or layer.role == "embedding" or layer.head or layer.router

    def made(self, source):
        for layer in source.layers:
            if not self.skips(source, layer):
                yield layer, packed(source.tensor(f"{layer.name}.weight").float())[0]


class CalibratedWriter(Plain4Writer):
    """Moves large channels into the weights and corrects what follows: the moves of AWQ and of GPTQ at once."""

    seen = ()

    def made(self, source):
        type(self).seen = []
        for block in source.blocks():
            layers = {layer.name: layer for layer in block.layers}
            for group in block.groups:
                inputs = block.inputs(group)
                type(self).seen.append((group, inputs))
                if group.before:
                    factors = inputs.mean_magnitude.clamp(min=1e-4).sqrt()
                    block.scale(group, factors / factors.mean())
                for name in group.modules:
                    if not source.excluded(layers[name]):
                        tensors, stands_for = packed(block.weight(name))
                        block.replace(name, stands_for)
                        yield layers[name], tensors


class FailingWriter(Plain4Writer):
    def made(self, source):
        yield from list(super().made(source))[:2]
        raise OSError(28, "No space left on device")


class SilentWriter(Quantizer):
    def write(self, source, folder, progress): ...


def packed(weight):
    """Tensors of the format, and the weight that they stand for: the same as the kit's, without its loops."""
    rows, columns = weight.shape
    groups = -(-columns // GROUP)
    padded = torch.nn.functional.pad(weight, (0, groups * GROUP - columns)).view(rows, groups, GROUP)
    scales = (padded.abs().amax(2) / 7).clamp(min=1e-4).half()
    whole = (padded / scales.float()[..., None]).round().clamp(-8, 7)
    stands_for = (whole * scales.float()[..., None]).view(rows, -1)[:, :columns]
    pairs = (whole.view(rows, -1)[:, :columns] + 8).to(torch.uint8).view(rows, -1, 2)
    return {"packed": pairs[..., 0] | pairs[..., 1] << 4, "scales": scales}, stands_for.contiguous()


class PlainPlugin:
    name = "plain"

    @hookimpl
    def kernelet_quantization_methods(self):
        return (QuantOffer(name=PLAIN4, target="kernelet.testing.quantization.reference:Plain4", names=(PLAIN4,)),)

    @hookimpl
    def kernelet_quantizers(self):
        options = {
            "bits": Option(type=int, default=4, help="bits of a weight"),
            "ratio": Option(type=float, default=0.5, help="a number"),
            "symmetric": Option(type=bool, default=True, help="a flag"),
            "mode": Option(type=str, default="a", choices=("a", "b"), help="a choice"),
        }
        return (
            QuantizerOffer(name="plain", target=f"{__name__}:Plain4Writer", options=options),
            QuantizerOffer(name="calibrated", target=f"{__name__}:CalibratedWriter", calibrated=True),
            QuantizerOffer(name="failing", target=f"{__name__}:FailingWriter"),
            QuantizerOffer(name="silent", target=f"{__name__}:SilentWriter"),
            QuantizerOffer(name="unsaid", target=f"{__name__}:CalibratedWriter"),
            QuantizerOffer(name="wrong", target="builtins:dict"),
        )


plugin = PlainPlugin()
