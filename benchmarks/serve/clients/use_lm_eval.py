"""lm-eval with a task over a local JSON set: python use_lm_eval.py URL MODEL FOLDER.

Each choice's score is the log-probability that the server gives to a text which it only echoes.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from checks import arguments
from lm_eval import simple_evaluate
from lm_eval.tasks import TaskManager

TASKS = Path(__file__).parent / "tasks"


def main() -> None:
    url, model, folder = arguments()
    about = {
        "model": model,
        "base_url": f"{url}/v1/completions",
        "tokenizer": folder,
        "tokenizer_backend": "huggingface",
        "num_concurrent": 4,
        "max_retries": 1,
    }
    os.chdir(TASKS)
    found = simple_evaluate(
        model="local-completions",
        model_args=about,
        tasks=["facts"],
        task_manager=TaskManager(include_path=str(TASKS)),
        bootstrap_iters=0,
    )
    scores = {
        one["doc"]["id"]: [float(first) for first, _ in one["filtered_resps"]] for one in found["samples"]["facts"]
    }
    print(json.dumps({"accuracy": found["results"]["facts"]["acc,none"], "scores": scores}), flush=True)


if __name__ == "__main__":
    main()
