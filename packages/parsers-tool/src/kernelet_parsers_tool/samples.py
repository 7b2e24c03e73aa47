"""What models of the families wrote, and what it means; for the conformance suites."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple


class Answer(NamedTuple):
    """What a model wrote, and what it means: the fields of the test kit's ``Sample``."""

    text: str
    reasoning: str = ""
    content: str = ""
    calls: tuple[tuple[str, Mapping[str, Any] | str], ...] = ()
    tools: tuple[Mapping[str, Any], ...] = ()
    prompt: str = ""
    cut: bool = False


CITY: Final[dict[str, Any]] = {
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "limit": {"type": ["integer", "null"]},
            "metric": {"type": "boolean"},
            "tags": {"type": "array"},
        },
    },
}
TOKYO: Final = ("get_weather", {"city": "Tokyo"})
TIME: Final = ("get_time", {"timezone": "Asia/Tokyo"})
TOKYO_TEXT: Final = '{"name": "get_weather", "arguments": {"city": "Tokyo"}}'
TIME_TEXT: Final = '{"name": "get_time", "arguments": {"timezone": "Asia/Tokyo"}}'

HERMES: Final = (
    Answer(
        text='<tool_call>{"name":"f","arguments":{"a":1}}</tool_call><tool_call>{"name":"g","arguments":{}}</tool_call>',
        calls=(("f", {"a": 1}), ("g", {})),
    ),
    Answer(text=f"x<tool_call>\n{TOKYO_TEXT}\n</tool_call>y", content="xy", calls=(TOKYO,)),
    Answer(text=f"<tool_call>{TOKYO_TEXT} That was it.", content="That was it.", calls=(TOKYO,)),
    Answer(text=f"<tool_call>{TOKYO_TEXT}\n<tool_call>{TIME_TEXT}", calls=(TOKYO, TIME)),
    Answer(
        text='<tool_call>\n{"arguments": {"numbers":[{"v":1}]}, "name": "f"}', calls=(("f", {"numbers": [{"v": 1}]}),)
    ),
    Answer(text=f'<tool_call>{{"type": "function", "function": {TOKYO_TEXT}}}</tool_call>', calls=(TOKYO,)),
    Answer(text='<tool_call>{"name": "f", "arguments": {"a": "b', calls=(("f", '{"a": "b'),), cut=True),
    Answer(text="<tool_call> is a tag, </tool_call> too", content="<tool_call> is a tag, </tool_call> too"),
    Answer(text='<tool_call>{"title": "no call"}</tool_call>', content='<tool_call>{"title": "no call"}</tool_call>'),
    Answer(text="<tool_call>\nnot json\n</tool_call> tail", content="<tool_call>\nnot json\n</tool_call> tail"),
    Answer(text='<tool_call>{"name":"f"', calls=(("f", ""),)),
    Answer(
        text='<tool_call>{"name":"f","arguments":{"a":1},"arguments":{"b":2}}</tool_call>', calls=(("f", {"a": 1}),)
    ),
)

GRANITE: Final = (
    Answer(text=f"<|tool_call|> [{TOKYO_TEXT}]", calls=(TOKYO,)),
    Answer(text=f"<|tool_call|>[\n  {TOKYO_TEXT},\n  {TIME_TEXT}\n]", calls=(TOKYO, TIME)),
    Answer(text=f"<tool_call> [{TOKYO_TEXT}]", calls=(TOKYO,)),
    Answer(
        text='<|tool_call|> [{"arguments": {"city": "Tokyo"}, "name": "get_weather"}]\nThat is all.',
        content="That is all.",
        calls=(TOKYO,),
    ),
    Answer(text='<|tool_call|> [{"name": "f", "arguments": {', calls=(("f", "{"),), cut=True),
    Answer(text="<|tool_call|>[]", content="<|tool_call|>[]"),
)

INTERNLM: Final = (
    Answer(
        text='Sure.<|action_start|><|plugin|>\n{"name": "get_weather", "parameters": {"city": "Tokyo"}}<|action_end|>',
        content="Sure.",
        calls=(TOKYO,),
    ),
    Answer(text=f"<|action_start|> <|plugin|>{TOKYO_TEXT}", calls=(TOKYO,)),
    Answer(text="<|action_start|><|interpreter|>\nprint(1)", content="<|action_start|><|interpreter|>\nprint(1)"),
)

JAMBA: Final = (
    Answer(text=f"Sure!<tool_calls>[\n    {TOKYO_TEXT}\n]</tool_calls>", content="Sure!", calls=(TOKYO,)),
    Answer(text=f"<tool_calls>[\n    {TOKYO_TEXT},\n    {TIME_TEXT}\n]</tool_calls>", calls=(TOKYO, TIME)),
    Answer(text=f"<tool_calls>[{TOKYO_TEXT}", calls=(TOKYO,)),
)

PHI4_MINI: Final = (
    Answer(text=f"functools[\n  {TOKYO_TEXT},\n  {TIME_TEXT}\n]", calls=(TOKYO, TIME)),
    Answer(text=f"<|tool_call|>[{TOKYO_TEXT}]<|/tool_call|>", calls=(TOKYO,)),
    Answer(text="functools[ This is just text ]", content="functools[ This is just text ]"),
    Answer(text="import functools", content="import functools"),
)

QWEN3_CODER: Final = (
    Answer(
        text=(
            "I look.\n\n<tool_call>\n<function=get_weather>\n<parameter=city>\nTokyo\n</parameter>\n"
            "<parameter=days>\n5\n</parameter>\n</function>\n</tool_call>"
        ),
        content="I look.",
        calls=(("get_weather", {"city": "Tokyo", "days": 5}),),
        tools=(CITY,),
    ),
    Answer(
        text="<function=get_weather>\n<parameter=city>\nTokyo\n</parameter>\n</function>\n</tool_call> So.",
        content=" So.",
        calls=(TOKYO,),
    ),
    Answer(
        text="<tool_call>\n<function=get_weather>\n<parameter=days>\n2026-01-15\n</parameter>\n</function>\n</tool_call>",
        calls=(("get_weather", {"days": "2026-01-15"}),),
        tools=(CITY,),
    ),
    Answer(
        text=(
            "<tool_call><function=get_weather><parameter=limit>None</parameter><parameter=metric>True</parameter>"
            "<parameter=tags>['a', None]</parameter></function></tool_call>"
        ),
        calls=(("get_weather", {"limit": None, "metric": True, "tags": ["a", None]}),),
        tools=(CITY,),
    ),
    Answer(
        text=(
            "<tool_call>\n<function=write>\n<parameter=text>\na </parameter> b\n\n"
            "</parameter>\n</function>\n</tool_call>"
        ),
        calls=(("write", {"text": "a </parameter> b\n"}),),
    ),
    Answer(
        text="<tool_call>\n<function=f>\n<parameter=a>\n1\n</function>\n</tool_call>",
        calls=(("f", {"a": "1"}),),
    ),
    Answer(text="<tool_call>\n<function=f>\n</tool_call>done", content="done", calls=(("f", {}),)),
    Answer(text="<tool_call>\n<function=f>\n<parameter=a>\nb", calls=(("f", '{"a": "b'),), cut=True),
    Answer(text="<function=f>\n<parameter=a>\nb", calls=(("f", '{"a": "b'),)),
    Answer(text="<function=f>\n<parameter=a>\nb\n</parameter>\n", calls=(("f", {"a": "b"}),)),
    Answer(text="<function=f>\n<parameter=a>\nb\n</parameter>\n", calls=(("f", '{"a": "b"'),), cut=True),
    Answer(text="<function=f>x</function>", content="x", calls=(("f", {}),)),
)

MINIMAX_M2: Final = (
    Answer(
        text=(
            'I look.\n<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Tokyo</parameter>\n'
            '<parameter name="days">5</parameter>\n</invoke>\n<invoke name="now">\n</invoke>\n</minimax:tool_call>'
        ),
        content="I look.",
        calls=(("get_weather", {"city": "Tokyo", "days": 5}), ("now", {})),
        tools=(CITY,),
    ),
    Answer(
        text=(
            '<minimax:tool_call><invoke name="a"></invoke>OOPS stray text<invoke name="b"></invoke></minimax:tool_call>'
            "\nBetween.\n<minimax:tool_call>\n"
            '<invoke name="c">\n<parameter name="note"></parameter>\n</invoke>\n</minimax:tool_call> After.'
        ),
        content="OOPS stray text\nBetween. After.",
        calls=(("a", {}), ("b", {}), ("c", {"note": ""})),
    ),
    Answer(
        text='<minimax:tool_call>\n<invoke name="f">\n<parameter name="a">  x\n</parameter>\n</invoke>',
        calls=(("f", {"a": "  x\n"}),),
    ),
    Answer(
        text="<minimax:tool_call>\nnot xml\n</minimax:tool_call> tail",
        content="<minimax:tool_call>\nnot xml\n</minimax:tool_call> tail",
    ),
)


GLM45: Final = (
    Answer(
        text=(
            "I look.\n<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Tokyo</arg_value>\n"
            "<arg_key>days</arg_key>\n<arg_value>5</arg_value>\n</tool_call>\n<tool_call>now\n</tool_call>"
        ),
        content="I look.",
        calls=(("get_weather", {"city": "Tokyo", "days": 5}), ("now", {})),
        tools=(CITY,),
    ),
    Answer(
        text=(
            "<tool_call>f<arg_key>a</arg_key><arg_value>if x:\n    </arg_value> y\n</arg_value></tool_call>"
            "<tool_call>now</tool_call> So."
        ),
        content=" So.",
        calls=(("f", {"a": "if x:\n    </arg_value> y\n"}), ("now", {})),
    ),
    Answer(text=f"<tool_call>{TOKYO_TEXT}</tool_call>", content=f"<tool_call>{TOKYO_TEXT}</tool_call>"),
    Answer(text="<tool_call>now", content="<tool_call>now"),
)

DEEPSEEK_V3: Final = (
    Answer(
        text=(
            "I look.\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n"
            '{"city": "Tokyo"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_time\n```json\n'
            '{"timezone": "Asia/Tokyo"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
        ),
        content="I look.",
        calls=(TOKYO, TIME),
    ),
    Answer(
        text=(
            '<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n{"city": "Tokyo"}<｜tool▁call▁end｜>'
            "<｜tool▁calls▁end｜> So."
        ),
        content=" So.",
        calls=(TOKYO,),
    ),
    Answer(
        text=(
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n"
            '{"city": "Tokyo"}\n```'
        ),
        calls=(TOKYO,),
    ),
)

DEEPSEEK_V31: Final = (
    Answer(
        text=(
            'I look.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Tokyo"}'
            "<｜tool▁call▁end｜><｜tool▁call▁begin｜>get_time<｜tool▁sep｜>"
            '{"timezone": "Asia/Tokyo"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
        ),
        content="I look.",
        calls=(TOKYO, TIME),
    ),
    Answer(text="<｜tool▁call▁begin｜>now<｜tool▁sep｜>{}<｜tool▁calls▁end｜>", calls=(("now", {}),)),
    Answer(text="<｜tool▁calls▁begin｜><｜tool▁calls▁end｜>", content="<｜tool▁calls▁begin｜><｜tool▁calls▁end｜>"),
)

KIMI_K2: Final = (
    Answer(
        text=(
            "I look.<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>"
            '{"city": "Tokyo"}<|tool_call_end|><|tool_call_begin|>functions.get_time:1<|tool_call_argument_begin|>'
            '{"timezone": "Asia/Tokyo"}<|tool_call_end|><|tool_calls_section_end|>'
        ),
        content="I look.",
        calls=(TOKYO, TIME),
    ),
    Answer(
        text=(
            '<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Tokyo"}'
            '<|tool_call_begin|>functions.get_time:1<|tool_call_argument_begin|>{"timezone": "Asia/Tokyo"}'
        ),
        calls=(TOKYO, TIME),
    ),
    Answer(
        text='<|tool_call_begin|>functions.execute_command:0<|tool_call_argument_begin|>{"command": "ls -lah"',
        calls=(("execute_command", '{"command": "ls -lah"'),),
        cut=True,
    ),
    Answer(
        text="<|tool_calls_section_begin|><|tool_call_begin|>what is this?<|tool_call_argument_begin|>{}",
        content="<|tool_calls_section_begin|><|tool_call_begin|>what is this?<|tool_call_argument_begin|>{}",
    ),
    Answer(
        text="<|tool_calls_section_begin|>\nno call<|tool_calls_section_end|> tail",
        content="<|tool_calls_section_begin|>\nno call<|tool_calls_section_end|> tail",
    ),
    Answer(text="<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>", calls=(("f", ""),)),
    Answer(
        text="<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|><|tool_call_end|> So.",
        content="So.",
        calls=(("f", {}),),
    ),
)

GEMMA4: Final = (
    Answer(
        text='<|tool_call>call:get_weather{city:<|"|>Tokyo<|"|>}<tool_call|><|tool_call>call:now{}<tool_call|>',
        calls=(TOKYO, ("now", {})),
    ),
    Answer(
        text='I look.\n<|tool_call>call:f{days:5,deep:{a b:[true,None,<|"|>}<|"|>]}}',
        content="I look.",
        calls=(("f", {"days": 5, "deep": {"a b": [True, None, "}"]}}),),
    ),
    Answer(text='<|tool_call>call:f{city:<|"|>To', calls=(("f", '{"city":"To'),), cut=True),
    Answer(text="<|tool_call>call: me", content="<|tool_call>call: me"),
)

MISTRAL: Final = (
    Answer(text=f"[TOOL_CALLS][{TOKYO_TEXT}, {TIME_TEXT}]", calls=(TOKYO, TIME)),
    Answer(
        text='[TOOL_CALLS] [ {"name": "get_weather", "arguments": {"city": "Tokyo"}, "id": "abcdefghi"} ]',
        calls=(TOKYO,),
    ),
    Answer(text=f"[TOOL_CALLS]{TOKYO_TEXT}", calls=(TOKYO,)),
    Answer(
        text=(
            'I look.[TOOL_CALLS]get_weather[ARGS]{"city": "Tokyo"}[TOOL_CALLS]get_time[ARGS]{"timezone": "Asia/Tokyo"}'
        ),
        content="I look.",
        calls=(TOKYO, TIME),
    ),
    Answer(text='[TOOL_CALLS]get_weather[CALL_ID]bbc5b7ede[ARGS]{"city": "Tokyo"}', calls=(TOKYO,)),
    Answer(text='[TOOL_CALLS]get_weather{"city": "Tokyo"}', calls=(TOKYO,)),
    Answer(text="[TOOL_CALLS] are two words", content="[TOOL_CALLS] are two words"),
    Answer(text="[TOOL_CALLS]f[ARGS]", calls=(("f", ""),)),
)

HARMONY: Final = (
    Answer(text="<|channel|>final<|message|>Hello!", content="Hello!"),
    Answer(
        text=(
            "<|channel|>analysis<|message|>I think<|end|><|start|>assistant<|channel|>commentary<|message|>I look."
            "<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json"
            '<|message|>{"city": "Tokyo"}<|call|>'
        ),
        reasoning="I think",
        content="I look.",
        calls=(TOKYO,),
    ),
    Answer(
        text=' to=functions.get_weather<|channel|>analysis <|constrain|>json<|message|>{"city": "Tokyo"}',
        calls=(TOKYO,),
    ),
    Answer(text='<|channel|>analysis to=functions.get_weather<|message|>{"city": "Tokyo"}', calls=(TOKYO,)),
    Answer(
        text=(
            "<|channel|>commentary to=assistant<|channel|>analysis<|message|>I think<|end|>"
            "<|start|>assistant<|channel|>final <|constrain|>json<|message|>{}<|return|>"
        ),
        reasoning="I think",
        content="{}",
    ),
    Answer(
        text=(
            "<|channel|>analysis<|message|>I run it.<|end|><|start|>assistant to=container.exec<|channel|>commentary"
            "<|message|>echo 1<|call|>"
        ),
        reasoning="I run it.echo 1",
    ),
    Answer(
        text="<|channel|>commentary to=functions.f<|message|>not json<|call|>",
        calls=(("f", "not json"),),
    ),
    Answer(text="Just text.", content="Just text."),
    Answer(text="ing on.<|end|>", reasoning="ing on.", prompt="<|start|>assistant<|channel|>analysis<|message|>"),
    Answer(text="<|channel|>analysis<|message|>I thi", reasoning="I thi", cut=True),
)
