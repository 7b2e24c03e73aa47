"""What the chat templates of the families write for an answer, from their facts; for the conformance suites."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernelet.request.message import ParsedMessage, ToolCall

Tools = Sequence[Mapping[str, Any]]
Render = Callable[[ParsedMessage, Tools], str]


def hermes(message: ParsedMessage, _: Tools) -> str:
    """Each call between tags, on lines of their own."""
    calls = (f"<tool_call>\n{_object(call)}\n</tool_call>" for call in message.tool_calls)
    return "\n".join([*_content(message), *calls])


def granite(message: ParsedMessage, _: Tools) -> str:
    """A list behind a token."""
    return message.content + (f"<|tool_call|>[{_objects(message)}]" if message.tool_calls else "")


def internlm(message: ParsedMessage, _: Tools) -> str:
    """Each call between tokens."""
    calls = (f"<|action_start|><|plugin|>\n{_object(call)}<|action_end|>" for call in message.tool_calls)
    return "".join([message.content, *calls])


def jamba(message: ParsedMessage, _: Tools) -> str:
    """A list between tags, a line a call."""
    lines = ",\n".join(f"    {_object(call)}" for call in message.tool_calls)
    return message.content + (f"<tool_calls>[\n{lines}\n]</tool_calls>" if lines else "")


def phi4_mini(message: ParsedMessage, _: Tools) -> str:
    """A list behind a word."""
    return message.content + (f"functools[{_objects(message)}]" if message.tool_calls else "")


def llama3_json(message: ParsedMessage, _: Tools) -> str:
    """One call, or text."""
    return "; ".join(_object(call, "parameters") for call in message.tool_calls) or message.content


def pythonic(message: ParsedMessage, _: Tools) -> str:
    """A list of calls, or text."""
    return f"[{', '.join(_python(call) for call in message.tool_calls)}]" if message.tool_calls else message.content


def olmo3(message: ParsedMessage, _: Tools) -> str:
    """A line a call, between tags."""
    lines = "\n".join(_python(call) for call in message.tool_calls)
    return message.content + (f"<function_calls>{lines}</function_calls>" if lines else "")


def xlam(message: ParsedMessage, _: Tools) -> str:
    """A list of calls, or text."""
    return f"[{_objects(message)}]" if message.tool_calls else message.content


def qwen3_coder(message: ParsedMessage, _: Tools) -> str:
    """Tags of call, function and parameter, each on a line of its own; an empty line behind the text."""
    content = [message.content, ""] if message.content else []
    return "\n".join([*content, *(_qwen3(call) for call in message.tool_calls)] if message.tool_calls else content[:1])


def step3p5(message: ParsedMessage, _: Tools) -> str:
    """The same, without lines between."""
    return message.content + "".join(_qwen3(call) for call in message.tool_calls)


def minimax_m2(message: ParsedMessage, _: Tools) -> str:
    """Functions between the tags of all calls."""
    if not message.tool_calls:
        return message.content
    calls = "".join(
        f'<invoke name="{call.name}">\n'
        + "".join(f'<parameter name="{name}">{_value(value)}</parameter>\n' for name, value in _items(call))
        + "</invoke>\n"
        for call in message.tool_calls
    )
    return f"{message.content}\n<minimax:tool_call>\n{calls}</minimax:tool_call>"


def glm45(message: ParsedMessage, _: Tools) -> str:
    """Tags of keys and values, each on a line of its own."""
    calls = (
        f"<tool_call>{call.name}\n"
        + "".join(
            f"<arg_key>{name}</arg_key>\n<arg_value>{_value(value)}</arg_value>\n" for name, value in _items(call)
        )
        + "</tool_call>"
        for call in message.tool_calls
    )
    return "\n".join([*_content(message), *calls])


def glm47(message: ParsedMessage, _: Tools) -> str:
    """The same without lines."""
    calls = (
        f"<tool_call>{call.name}"
        + "".join(f"<arg_key>{name}</arg_key><arg_value>{_value(value)}</arg_value>" for name, value in _items(call))
        + "</tool_call>"
        for call in message.tool_calls
    )
    return "".join([message.content, *calls])


def deepseek_v3(message: ParsedMessage, _: Tools) -> str:
    """Calls between tokens, the arguments in a code fence."""
    calls = "\n".join(
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{call.name}\n```json\n{call.arguments}\n```<｜tool▁call▁end｜>"
        for call in message.tool_calls
    )
    return message.content + (f"<｜tool▁calls▁begin｜>{calls}<｜tool▁calls▁end｜>" if calls else "")


def deepseek_v31(message: ParsedMessage, _: Tools) -> str:
    """Calls between tokens, without a fence."""
    calls = "".join(
        f"<｜tool▁call▁begin｜>{call.name}<｜tool▁sep｜>{call.arguments}<｜tool▁call▁end｜>"
        for call in message.tool_calls
    )
    return message.content + (f"<｜tool▁calls▁begin｜>{calls}<｜tool▁calls▁end｜>" if calls else "")


def kimi_k2(message: ParsedMessage, _: Tools) -> str:
    """Calls between tokens, each with an id that counts."""
    calls = "".join(
        f"<|tool_call_begin|>functions.{call.name}:{number}<|tool_call_argument_begin|>{call.arguments}<|tool_call_end|>"
        for number, call in enumerate(message.tool_calls)
    )
    return message.content + (f"<|tool_calls_section_begin|>{calls}<|tool_calls_section_end|>" if calls else "")


def gemma4(message: ParsedMessage, _: Tools) -> str:
    """Objects with bare keys, in their order; strings between quotes."""
    calls = (
        f"<|tool_call>call:{call.name}{_bare(json.loads(call.arguments))}<tool_call|>" for call in message.tool_calls
    )
    return "".join([message.content, *calls])


def mistral_list(message: ParsedMessage, _: Tools) -> str:
    """A list behind a token, each call with its id at the end."""
    calls = ", ".join(f'{_object(call)[:-1]}, "id": "{_mistral_id(call)}"}}' for call in message.tool_calls)
    return message.content + (f"[TOOL_CALLS][{calls}]" if calls else "")


def mistral_named(message: ParsedMessage, _: Tools) -> str:
    """Each call behind a token, the name before its arguments."""
    return message.content + "".join(f"[TOOL_CALLS]{call.name}[ARGS]{call.arguments}" for call in message.tool_calls)


def mistral_with_ids(message: ParsedMessage, _: Tools) -> str:
    """The same, with the id between name and arguments."""
    return message.content + "".join(
        f"[TOOL_CALLS]{call.name}[CALL_ID]{_mistral_id(call)}[ARGS]{call.arguments}" for call in message.tool_calls
    )


def harmony(message: ParsedMessage, _: Tools) -> str:
    """Messages, each with a header; the prompt ends behind the role of the first."""
    pieces = [f"<|channel|>analysis<|message|>{message.reasoning}"] if message.reasoning else []
    channel = "commentary" if message.tool_calls else "final"
    if message.content or not (pieces or message.tool_calls):
        pieces.append(f"<|channel|>{channel}<|message|>{message.content}")
    text = "<|end|><|start|>assistant".join(pieces)
    begun = bool(pieces)
    for call in message.tool_calls:
        text += ("<|end|>" if begun and not text.endswith("<|call|>") else "") + ("<|start|>assistant" if begun else "")
        text += f" to=functions.{call.name}<|channel|>commentary json<|message|>{call.arguments}<|call|>"
        begun = True
    return text


def _content(message: ParsedMessage) -> list[str]:
    return [message.content] if message.content else []


def _object(call: ToolCall, arguments: str = "arguments") -> str:
    return f'{{"name": "{call.name}", "{arguments}": {call.arguments}}}'


def _objects(message: ParsedMessage) -> str:
    return ", ".join(_object(call) for call in message.tool_calls)


def _items(call: ToolCall) -> list[tuple[str, Any]]:
    return list(json.loads(call.arguments).items())


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _qwen3(call: ToolCall) -> str:
    values = (
        f"<parameter={name}>\n{_value(value) if isinstance(value, dict | list) else value}\n</parameter>\n"
        for name, value in _items(call)
    )
    return f"<tool_call>\n<function={call.name}>\n{''.join(values)}</function>\n</tool_call>"


def _python(call: ToolCall) -> str:
    return f"{call.name}({', '.join(f'{name}={value!r}' for name, value in _items(call))})"


def _bare(value: object) -> str:
    if isinstance(value, dict):
        items = sorted(value.items(), key=lambda item: str(item[0]).lower())
        return f"{{{','.join(f'{name}:{_bare(part)}' for name, part in items)}}}"
    if isinstance(value, list):
        return f"[{','.join(_bare(part) for part in value)}]"
    if isinstance(value, str):
        return f'<|"|>{value}<|"|>'
    return str(value).lower() if isinstance(value, bool) else str(value)


def _mistral_id(call: ToolCall) -> str:
    return call.id.replace("_", "").ljust(9, "0")[:9]
