"""What models wrote whose calls no marker announces, or whose calls are Python, and what it means."""

from __future__ import annotations

from typing import Final

from kernelet_parsers_tool.samples import CITY, TIME, TIME_TEXT, TOKYO, TOKYO_TEXT, Answer

LLAMA3_JSON: Final = (
    Answer(text='{"name": "get_weather", "parameters": {"city": "Tokyo"}}', calls=(TOKYO,)),
    Answer(text=f"<|python_tag|>{TOKYO_TEXT}", calls=(TOKYO,)),
    Answer(text=f"{TOKYO_TEXT}; {TIME_TEXT}", calls=(TOKYO, TIME)),
    Answer(text=f'{{"type": "function", "function": {TOKYO_TEXT}}}', calls=(TOKYO,)),
    Answer(text='\n{ "name" : "f",\n"parameters":{}}', calls=(("f", {}),)),
    Answer(text='{"answer": 42}', content='{"answer": 42}'),
    Answer(text='{"name": "John", "age": 3}', content='{"name": "John", "age": 3}'),
    Answer(text='{"name": "John", "age": 3}', content='{"name": "John", "age": 3}', tools=(CITY,)),
    Answer(text='{"name": "get_weather"}', calls=(("get_weather", {}),), tools=(CITY,)),
    Answer(text="{not JSON", content="{not JSON"),
    Answer(text='<|python_tag|>brave_search.call(query="x")', content='<|python_tag|>brave_search.call(query="x")'),
)

PYTHONIC: Final = (
    Answer(text="[get_weather(city='Tokyo')]", calls=(TOKYO,)),
    Answer(text='[get_weather(city="Tokyo"), get_time(timezone="Asia/Tokyo")]', calls=(TOKYO, TIME)),
    Answer(text='<|python_start|>[get_weather(city="Tokyo")]<|python_end|>', calls=(TOKYO,)),
    Answer(
        text="[register_user(name='John Doe', age=37, address={'city': 'SF'}, role=None, passed=True, tags=[])]",
        calls=(
            (
                "register_user",
                {"name": "John Doe", "age": 37, "address": {"city": "SF"}, "role": None, "passed": True, "tags": []},
            ),
        ),
    ),
    Answer(
        text=r"[get_weather(city='Martha\'s Vineyard', metric='\"cool units\"')]",
        calls=(("get_weather", {"city": "Martha's Vineyard", "metric": '"cool units"'}),),
    ),
    Answer(text="[now()]", calls=(("now", {}),)),
    Answer(text="[1, 2, 3] is a list", content="[1, 2, 3] is a list"),
    Answer(text="[a link](https://example.org)", content="[a link](https://example.org)"),
    Answer(text='[f(a="b', calls=(("f", ""),), cut=True),
    Answer(text="[f(x)]", content="[f(x)]"),
    Answer(text="[see(above)] a", content="[see(above)] a"),
    Answer(text="[main()](src/x.py) is the entry", content="[main()](src/x.py) is the entry", tools=(CITY,)),
    Answer(text="[get_weather()]", calls=(("get_weather", {}),), tools=(CITY,)),
    Answer(text="[f(a=1), some text]", content=", some text]", calls=(("f", {"a": 1}),)),
)

OLMO3: Final = (
    Answer(text="<function_calls>get_weather(city='Tokyo')</function_calls>", calls=(TOKYO,)),
    Answer(
        text="I look.\n<function_calls>\nget_weather(city='Tokyo')\nget_time(timezone='Asia/Tokyo')\n</function_calls>",
        content="I look.",
        calls=(TOKYO, TIME),
    ),
    Answer(
        text="<function_calls>f(role=null, passed=true, tags=['a'], more={})</function_calls>",
        calls=(("f", {"role": None, "passed": True, "tags": ["a"], "more": {}}),),
    ),
    Answer(text="<function_calls></function_calls>", content="<function_calls></function_calls>"),
    Answer(text="<function_calls>f(a=1), 1 x</function_calls>", content=", 1 x", calls=(("f", {"a": 1}),)),
    Answer(
        text="<function_calls>f(a=1)\nsee(above) x</function_calls>", content="see(above) x", calls=(("f", {"a": 1}),)
    ),
    Answer(text="<function_calls>f(a=1),\n</function_calls>", calls=(("f", {"a": 1}),)),
)

XLAM: Final = (
    Answer(text=f"[{TOKYO_TEXT}, {TIME_TEXT}]", calls=(TOKYO, TIME)),
    Answer(text=f"I'll help.\n```json\n[{TOKYO_TEXT}]\n```", content="I'll help.", calls=(TOKYO,)),
    Answer(text=f"I'll look.<tool_call>[{TOKYO_TEXT}]</tool_call>", content="I'll look.", calls=(TOKYO,)),
    Answer(text="[]", content="[]"),
    Answer(text='[{"name":"John","age":3}]', content='[{"name":"John","age":3}]'),
    Answer(text="```json\n[1, 2]\n```", content="```json\n[1, 2]\n```"),
)
