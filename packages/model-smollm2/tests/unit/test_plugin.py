from __future__ import annotations

import importlib
import subprocess
import sys

from kernelet.contracts.model import ModelSource
from kernelet_model_smollm2.plugin import kernelet_model_sources
from kernelet_model_smollm2.release import RELEASES


def test_offers_the_models_that_are_pinned():
    (offer,) = kernelet_model_sources()
    assert set(offer.models) == set(RELEASES)


def test_target_is_a_source():
    (offer,) = kernelet_model_sources()
    module, _, name = offer.target.partition(":")
    assert issubclass(getattr(importlib.import_module(module), name), ModelSource)


def test_hook_is_reentrant():
    assert kernelet_model_sources() == kernelet_model_sources()


def test_import_is_light():
    heavy = "{'numpy', 'gguf', 'torch', 'rich', 'tokenizers'} & set(sys.modules)"
    code = f"import sys, kernelet_model_smollm2.plugin; print(sorted({heavy}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
