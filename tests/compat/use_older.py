"""Run by an environment's Python: a null engine under memory pressure with the older plugin's policy and logger.

python use_older.py FOLDER

Prints prompts, answers and the size of the vocabulary as JSON; the log goes to stderr.
"""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

from kernelet import LLM, SamplingParams
from kernelet.testing.null import write_model


def main(folder: Path) -> None:
    logging.basicConfig(level=logging.INFO)
    prompts = [{"prompt_token_ids": [1 + (7 * row + column) % 90 for column in range(40)]} for row in range(8)] * 2
    params = SamplingParams(temperature=0.0, max_tokens=12, ignore_eos=True)
    model = write_model(folder / "model")
    with LLM(
        str(model),
        plugins=["kernelet.testing.null:plugin"],
        platform="null",
        eviction_policy="acme-newest",
        set={"acme-older": {"file": str(folder / "lines.jsonl")}},
        max_model_len=64,
        block_size=4,
        num_blocks=40,
        max_num_seqs=2,
    ) as llm:
        vocabulary = llm.config.model.vocab_size
        answers = [output.outputs[0].token_ids for output in llm.generate(prompts, params)]
    json.dump({"prompts": prompts, "answers": answers, "vocabulary": vocabulary}, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
