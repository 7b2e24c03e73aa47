"""OpenVINO GenAI with continuous batching, which is what its pipeline uses on a CPU."""

from __future__ import annotations

import numpy as np
from serve import Engine, Options, Prompts, serve


def make(options: Options) -> Engine:
    import openvino
    import openvino_genai

    scheduler = openvino_genai.SchedulerConfig()
    scheduler.max_num_batched_tokens = options.max_requests * 128
    scheduler.max_num_seqs = options.max_requests
    scheduler.cache_size = 1
    scheduler.enable_prefix_caching = False
    properties = {"INFERENCE_NUM_THREADS": options.threads}
    pipe = openvino_genai.ContinuousBatchingPipeline(options.model, scheduler, "CPU", properties)

    def run(prompts: Prompts, tokens: int) -> list[list[int]]:
        config = openvino_genai.GenerationConfig()
        config.max_new_tokens = config.min_new_tokens = tokens
        config.ignore_eos = True
        config.do_sample = False
        ids = [openvino.Tensor(np.array([prompt], dtype=np.int64)) for prompt in prompts]
        return [list(result.m_generation_ids[0]) for result in pipe.generate(ids, [config] * len(ids))]

    return run


if __name__ == "__main__":
    serve(make, "openvino-genai")
