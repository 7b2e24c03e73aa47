"""`transformers` generate, tokens to tokens; prompts of several lengths are padded on the left."""

from __future__ import annotations

from serve import Engine, Options, Prompts, serve


def make(options: Options) -> Engine:
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    torch.set_num_threads(options.threads)
    logging.disable_progress_bar()
    network = AutoModelForCausalLM.from_pretrained(options.model, dtype=torch.bfloat16).eval()

    def run(prompts: Prompts, tokens: int) -> list[list[int]]:
        longest = max(map(len, prompts))
        ids = torch.tensor([[0] * (longest - len(prompt)) + prompt for prompt in prompts])
        mask = torch.tensor([[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts])
        with torch.inference_mode():
            output = network.generate(
                ids,
                attention_mask=mask,
                do_sample=False,
                min_new_tokens=tokens,
                max_new_tokens=tokens,
                pad_token_id=0,
            )
        return [row[longest:] for row in output.tolist()]

    return run


if __name__ == "__main__":
    serve(make, "transformers")
