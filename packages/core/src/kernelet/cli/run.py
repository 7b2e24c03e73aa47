"""``kernelet run MODEL``: completes prompts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kernelet.cli.engine_options import MODEL_HELP, add_engine_options, resolved_options
from kernelet.cli.output import answer_object, print_growing, print_json
from kernelet.cli.print_config import print_config
from kernelet.cli.prompts import add_prompt_options, read_prompts
from kernelet.cli.sampling_options import add_sampling_options, sampling_params, with_room

if TYPE_CHECKING:
    import argparse

    from kernelet.contracts.sampling import SamplingParams
    from kernelet.engine.llm import LLM
    from kernelet.request.outputs import RequestOutput

DEFAULT_TOKENS = 256
PROMPT_SHOWN = 60


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    add_prompt_options(parser)
    parser.add_argument("--json", action="store_true", help="one object a line for each answer")
    parser.add_argument("--stream", action="store_true", help="print while generating (as it is for one prompt)")
    parser.add_argument("--no-stream", action="store_true", help="print at the end only")
    add_sampling_options(parser)
    add_engine_options(parser)


def run(options: argparse.Namespace) -> int:
    """Loads the model, completes the prompts, prints them."""
    resolved = resolved_options(options)
    if options.print_config:
        return print_config(options.model, resolved)
    prompts = read_prompts(options)
    from kernelet.engine.llm import LLM

    with LLM.from_options(options.model, resolved) as llm:
        return complete(llm, prompts, options)


def complete(llm: LLM, prompts: Sequence[Any], options: argparse.Namespace) -> int:
    """Completes and prints; several prompts run as one batch."""
    if options.chat:
        prompts = [llm.chat_prompt([{"role": "user", "content": user_text(prompt)}]) for prompt in prompts]
    params = [params_for(llm, prompt, options) for prompt in prompts]
    streams = not options.json and not options.no_stream and params[0].n == 1
    if streams and (len(prompts) == 1 or options.stream):
        for index, (prompt, one) in enumerate(zip(prompts, params, strict=True)):
            if len(prompts) > 1:
                print(f"### {index}")
            print_growing(llm.stream(prompt, one))
        return 0
    print_answers(llm.generate(prompts, params), as_json=options.json)
    return 0


def params_for(llm: LLM, prompt: Any, options: argparse.Namespace) -> SamplingParams:
    """The prompt's parameters, with a number of tokens that fits where none was asked for."""
    params = sampling_params(options, max_tokens=None)
    if "max_tokens" in vars(options):
        return params
    return with_room(params, llm.count_tokens(prompt), llm.config.model.max_model_len, DEFAULT_TOKENS)


def user_text(prompt: Any) -> Any:
    """What a user says: the text of a prompt."""
    return prompt["prompt"] if isinstance(prompt, dict) and "prompt" in prompt else prompt


def print_answers(outputs: Sequence[RequestOutput], *, as_json: bool) -> None:
    """All answers: JSON, or texts with a heading where there are several."""
    answers = [(index, output, choice) for index, output in enumerate(outputs) for choice in output.outputs]
    for index, output, choice in answers:
        if as_json:
            print_json(answer_object(index, output, choice))
            continue
        if len(answers) > 1:
            name = f"{index}/{choice.index}" if len(output.outputs) > 1 else f"{index}"
            print(f"### {name}: {(output.prompt or '')[:PROMPT_SHOWN]!r}")
        print(choice.text)
