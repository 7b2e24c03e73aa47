"""The example of docs/plugins/io.md does what its page says."""

from __future__ import annotations

import pytest

from kernelet import LLM
from kernelet.contracts.pooling import PoolingParams
from kernelet.errors import ParameterError
from kernelet.testing.null import NullPlugin, write_model


def test_io_processor(example, tmp_path):
    plugins = [NullPlugin(), example("io").plugin]
    folder = write_model(tmp_path / "null-model")
    with LLM(str(folder), plugins=plugins, platform="null", io_processor_plugin="similarity") as llm:
        first, second = (output.outputs.data.astype(float) for output in llm.embed(["one", "two"]))
        (answer,) = llm.encode({"data": ["one", "two"]})
        assert answer.outputs["similarity"] == pytest.approx(first @ second)
        (same,) = llm.encode({"data": ["one", "one"]}, PoolingParams(pooling="mean", dimensions=2, normalize=True))
        assert same.outputs["similarity"] == pytest.approx(1)
        for data in (["one"], [1, 2], "one", ["one", ""]):
            with pytest.raises(ParameterError, match=r"^data: expected"):
                llm.encode({"data": data})
        with pytest.raises(ParameterError, match=r"^normalize: cosines"):
            llm.encode({"data": ["one", "two"]}, PoolingParams(normalize=False))
