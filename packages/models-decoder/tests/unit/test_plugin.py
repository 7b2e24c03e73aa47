from __future__ import annotations

import subprocess
import sys

from kernelet_models_decoder.plugin import kernelet_model_architectures
from kernelet_models_decoder.rows import ROWS


def imported(target):
    module, _, name = target.partition(":")
    return getattr(__import__(module, fromlist=[name]), name)


def test_one_offer_a_row_with_targets_that_exist():
    offers = kernelet_model_architectures()
    assert [offer.name for offer in offers] == [row.architecture for row in ROWS]
    assert kernelet_model_architectures() == offers
    for offer in offers[:1]:
        assert callable(imported(offer.target))
        assert callable(imported(offer.describe))
    assert len({(offer.target, offer.describe) for offer in offers}) == 1


def test_registration_imports_nothing_heavy():
    code = (
        "import sys, kernelet_models_decoder.plugin; print([m for m in ('torch', 'transformers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
