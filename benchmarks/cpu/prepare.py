"""Builds what the engines need in a cache folder: a virtual environment each, and the checkpoint in the form it reads.

Nothing outside that folder is touched. What is there already is kept; peers/peers.toml says what is installed. An
engine that cannot be had is left out, with the reason.

python benchmarks/cpu/prepare.py [--engines llama.cpp,openvino] [--model smollm2-135m] [--cache FOLDER]
"""

from __future__ import annotations

import argparse
import json
import sys

from peers.workshop import CHART, Workshop, add_options, chosen, engines, model_folder, prepare_all


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    options = parser.parse_args()
    names = [*chosen(options.engines, engines(), "--engines"), CHART]
    missing = prepare_all(Workshop(options.cache, model_folder(options.model)), names)
    print(json.dumps({"missing": missing}, indent=2))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
