"""From the command's arguments to a folder."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterator
from pathlib import Path

from kernelet.config import EngineConfig
from kernelet.contracts.commands import CommandContext
from kernelet.contracts.plugins import PluginView
from kernelet.contracts.quant import ModulePatterns
from kernelet.contracts.quantizing import CalibratedBlock
from kernelet.errors import ConfigError, PluginError, UnsupportedModelError
from kernelet.text.tokenizer import Tokenizer
from kernelet.worker.checkpoint import open_checkpoint
from kernelet_quant_tools.bar import Bar
from kernelet_quant_tools.command import LENGTH
from kernelet_quant_tools.formats import find_format, make_quantizer
from kernelet_quant_tools.modules import model_layers
from kernelet_quant_tools.output import check_free, ended_by_signals, new_folder
from kernelet_quant_tools.source import Calibrate, CheckpointSource
from kernelet_quant_tools.text import read_text, sequences

logger = logging.getLogger("kernelet.quant_tools")

PLUGIN = "quant-tools"
MEGABYTE = 10**6
WEIGHTS = frozenset({".safetensors", ".gguf", ".bin"})
LEAST = 8
"""No format makes less than 2 bits of 16."""


def quantize(options: argparse.Namespace, context: CommandContext) -> str:
    """Writes what the options say; returns one line about it.

    Raises:
        ConfigError: an option cannot work, the folder is not free, or the model is quantized already.
        SelectionError: nobody writes the format.
        KerneletError: the model cannot be read, or not be stored in the format.
    """
    out = Path(options.out)
    plugins = context.plugins()
    owned = find_format(plugins, options.format)
    if options.calibration is not None and not owned.offer.calibrated:
        raise ConfigError(f"--calibration: the format {options.format} looks at no text: leave it out")
    quantizer = make_quantizer(plugins, owned, options.option)
    check_free(out)
    excluded = patterns([entry for text in options.exclude for entry in text.split(",") if entry.strip()])
    config = context.engine(options.model)
    if config.model.quantization_config is not None or config.model.quantization is not None:
        raise ConfigError(
            f"{options.model} is quantized already, with {config.model.quantization!r}: take the original"
        )
    plugins = context.plugins()
    source = open_source(config, plugins, excluded, options if owned.offer.calibrated else None)
    with ended_by_signals(), new_folder(out, source.nbytes // LEAST) as folder:
        with Bar(options.format, len(source.layers)) as progress:
            quantizer.write(source, folder, progress)
        if not any(folder.iterdir()):
            raise PluginError(f"the writer of {options.format} wrote nothing")
    for entry in excluded.unused():
        logger.warning("--exclude %s matches no module of the model", entry)
    after = sum(path.stat().st_size for path in out.iterdir() if path.suffix in WEIGHTS)
    return f"{out}: {options.format}, {after / MEGABYTE:.1f} MB of weights, of {source.nbytes / MEGABYTE:.1f}"


def patterns(entries: list[str]) -> ModulePatterns:
    """What ``--exclude`` says.

    Raises:
        ConfigError: an entry is malformed.
    """
    try:
        return ModulePatterns([entry.strip() for entry in entries])
    except ValueError as error:
        raise ConfigError(f"--exclude: {error}") from error


def open_source(
    config: EngineConfig, plugins: PluginView, excluded: ModulePatterns, calibration: argparse.Namespace | None
) -> CheckpointSource:
    """The checkpoint; with a text, if the format is calibrated."""
    settings = plugins.settings(PLUGIN)
    layers = model_layers(config, plugins)
    experts = next((layer.name for layer in layers if layer.role == "grouped_linear"), "")
    if experts and calibration is not None:
        raise UnsupportedModelError(
            f"{experts}: experts, each of which sees few tokens, are not calibrated: choose a format that needs no "
            f"calibration"
        )
    return CheckpointSource(
        config.model,
        layers,
        open_checkpoint(config.model, plugins),
        excluded,
        int(settings["shard_mb"] or 1) * MEGABYTE,
        None if calibration is None else calibrate(config, calibration, int(settings["sample_rows"] or 1)),
    )


def calibrate(config: EngineConfig, options: argparse.Namespace, rows: int) -> Calibrate:
    """How the model is computed block by block. The text is read now, so that what is wrong with it is known soon."""
    from kernelet_quant_tools.block import calibrated_blocks
    from kernelet_quant_tools.decoder import Decoder

    tokenizer = Tokenizer.from_folder(config.model.path)
    context = config.model.max_model_len
    if options.seq_len is not None and options.seq_len > context:
        raise ConfigError(f"--seq-len {options.seq_len}: the model was made for {context} tokens: lower it")
    length = options.seq_len or min(LENGTH, context)
    ids = sequences(tokenizer, read_text(options.calibration), options.samples, length)

    def blocks(source: CheckpointSource) -> Iterator[CalibratedBlock]:
        return calibrated_blocks(Decoder(source.folder, source.tensor), ids, rows, source)

    return blocks
