"""Kernelet, tokens to tokens."""

from __future__ import annotations

from serve import Engine, Options, Prompts, serve


def make(options: Options) -> Engine:
    from kernelet import LLM, SamplingParams

    own = {"platform-cpu": {"threads": options.threads}}
    if options.precision == "q4_1":  # llama.cpp multiplies in 8 bits too
        own["quant-gguf"] = {"activations": "int8"}
    quantization = {"quantization": options.precision} if options.precision in {"int8", "int4"} else {}
    llm = LLM(
        options.model,
        dtype="bfloat16",
        max_model_len=options.max_len,
        set=own,
        **quantization,
    )

    def run(prompts: Prompts, tokens: int) -> list[list[int]]:
        params = SamplingParams(temperature=0.0, max_tokens=tokens, ignore_eos=True, detokenize=False)
        outputs = llm.generate(prompts, params, use_tqdm=False)
        return [list(output.outputs[0].token_ids) for output in outputs]

    return run


if __name__ == "__main__":
    serve(make, "kernelet-core")
