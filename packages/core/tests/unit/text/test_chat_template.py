from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from kernelet.errors import ChatTemplateError
from kernelet.text.chat_template import ChatTemplate
from kernelet.text.tokenizer import Tokenizer

CHATML = """\
{%- if messages[0].role != 'system' %}
{{- '<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' }}
{%- if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}
{%- endif %}"""

DATED = """\
{{- bos_token }}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start|>system<|end|>\\n\\nToday Date: " + date_string + "\\n\\n" + system_message + "<|eot|>" }}
{%- for message in messages %}
    {{- '<|start|>' + message['role'] + '<|end|>\\n\\n' + message['content'] | trim + '<|eot|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start|>assistant<|end|>\\n\\n' }}
{%- endif %}"""

ALTERNATING = """\
{{ bos_token }}{% for message in messages %}
{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}
{% endif %}
{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}
{% else %}{% generation %}{{ message['content'] + eos_token }}{% endgeneration %}{% endif %}
{% endfor %}"""

TOOLS = """\
{%- if tools %}
{{- 'Tools:\\n' }}
{%- for tool in tools %}{{ tool | tojson(indent=2) }}{{ '\\n' }}{% endfor %}
{%- endif %}
{%- for document in documents or [] %}{{ document.title }}: {{ document.text }}|{% endfor %}
{%- for message in messages %}
{{- '<' + message.role + '>' }}
{%- if message.content is string %}{{ message.content }}
{%- else %}{% for part in message.content or [] %}{{ '[' + part.text + ']' }}{% endfor %}{% endif %}
{%- if message.reasoning_content %}<think>{{ message.reasoning_content }}</think>{% endif %}
{%- for call in message.tool_calls or [] %}
{{- '<call>' ~ ({'name': call.function.name, 'arguments': call.function.arguments} | tojson) ~ '</call>' }}
{%- endfor %}
{{- '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}<assistant>{% endif %}"""

TEMPLATES = {"chatml": CHATML, "dated": DATED, "alternating": ALTERNATING, "tools": TOOLS}
USER, ANSWER, LAST = (
    {"role": role, "content": text} for role, text in (("user", "Hi <&>"), ("assistant", "Hé  "), ("user", " a "))
)
SYSTEM = {"role": "system", "content": " Be short. "}
CHATS = {"one": [USER], "three": [USER, ANSWER, LAST], "system": [SYSTEM, USER]}
TOOL = {
    "type": "function",
    "function": {"name": "f", "description": "<é>", "parameters": {"type": "object", "properties": {}}},
}
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": {"x": "é<"}}}
CONFIG = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>"}
PLAIN = {"bos_token": "<s>", "eos_token": "</s>"}


@pytest.fixture
def both(make_backend, write_folder):
    """Our template and the tokenizer of transformers, of one folder."""

    def load(template: object):
        from transformers import AutoTokenizer

        folder = write_folder(make_backend["byte_level"](), tokenizer_config={**CONFIG, "chat_template": template})
        return ChatTemplate.from_folder(
            folder, Tokenizer.from_folder(folder).special_tokens
        ), AutoTokenizer.from_pretrained(folder)

    return load


def their_text(theirs, messages, **options):
    return theirs.apply_chat_template(messages, tokenize=False, **options)


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("chat", CHATS)
@pytest.mark.parametrize("add_generation_prompt", [True, False])
def test_same_as_transformers(both, name, chat, add_generation_prompt):
    ours, theirs = both(TEMPLATES[name])
    if (name, chat) == ("alternating", "system"):
        with pytest.raises(ChatTemplateError, match=r"refused the messages: Conversation roles must alternate"):
            ours.render(CHATS[chat])
        return
    expected = their_text(theirs, CHATS[chat], add_generation_prompt=add_generation_prompt)
    assert ours.render(CHATS[chat], add_generation_prompt=add_generation_prompt) == expected


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("text", ["Once upon", "Once upon  ", "  Once\n"])
def test_the_last_message_is_continued_as_in_transformers(both, name, text):
    ours, theirs = both(TEMPLATES[name])
    chat = [USER, {"role": "assistant", "content": text}]
    made = ours.render(chat, add_generation_prompt=False, continue_final_message=True)
    assert made == their_text(theirs, chat, continue_final_message=True)
    assert made.rstrip().endswith("Once upon" if "upon" in text else "Once")


def test_parts_are_continued_too(both):
    ours, theirs = both(TOOLS)
    chat = [USER, {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b "}]}]
    expected = their_text(theirs, chat, continue_final_message=True)
    assert ours.render(chat, add_generation_prompt=False, continue_final_message=True) == expected


def test_tools_documents_and_calls(both):
    ours, theirs = both(TOOLS)
    chat = [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": None, "tool_calls": [CALL], "reasoning": "so"},
        {"role": "tool", "content": "3", "tool_call_id": "1"},
    ]
    options = {"tools": [TOOL], "documents": [{"title": "t", "text": "x"}], "add_generation_prompt": True}
    made = ours.render(chat, **options)
    assert made == their_text(theirs, chat, **options)
    assert all(
        piece in made for piece in ('"<é>"', "t: x|", "[a][b]", "<think>so</think>", '<call>{"name": "f", "argum')
    )


def test_an_assistant_without_words(both):
    """As vLLM: its text is empty, also where a template adds something to it."""
    ours, theirs = both(CHATML)
    call = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    assert ours.render([USER, call]) == their_text(theirs, [USER, {**call, "content": ""}], add_generation_prompt=True)


@pytest.mark.parametrize(
    "name, variables", [("chatml", {"enable_thinking": False}), ("dated", {"date_string": "1 Jan 2000"})]
)
def test_variables_of_the_template(both, name, variables):
    ours, theirs = both(TEMPLATES[name])
    made = ours.render([USER], template_kwargs=variables)
    assert made == their_text(theirs, [USER], add_generation_prompt=True, **variables)
    assert made != ours.render([USER])


def test_date_of_the_clock():
    ours = ChatTemplate({"default": DATED}, PLAIN, now=lambda: datetime(2031, 5, 6, tzinfo=UTC))
    assert "Today Date: 06 May 2031\n" in ours.render([USER])


def test_named_templates(both):
    ours, theirs = both([{"name": "default", "template": CHATML}, {"name": "tool_use", "template": TOOLS}])
    for tools in (None, [TOOL]):
        made = ours.render([USER], tools=tools, add_generation_prompt=False)
        assert made == their_text(theirs, [USER], tools=tools)
    assert ours.render([USER], template="tool_use") == ChatTemplate({"default": TOOLS}, {}).render([USER])
    assert ours.render([USER], template="{{ messages[0].content }}") == USER["content"]


def test_files_come_before_the_configuration(both, tmp_path):
    both(CHATML)
    (tmp_path / "chat_template.jinja").write_text("{{ bos_token }}é", encoding="utf-8")
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates" / "rag.jinja").write_text("rag", encoding="utf-8")
    ours = ChatTemplate.from_folder(tmp_path, PLAIN)
    assert ours.render([USER]) == "<s>é"
    assert ours.render([USER], template="rag") == "rag"


def test_parts_for_a_template_of_strings():
    ours = ChatTemplate({"default": CHATML}, {})
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert ours.render([{"role": "user", "content": parts}]) == ours.render([{"role": "user", "content": "a\nb"}])


@pytest.mark.parametrize(
    "template, options, problem",
    [
        (None, {}, "the model has no chat template .*give one, or send a plain prompt"),
        ([{"name": "rag", "template": "x"}], {}, "no default: name one of them: rag"),
        ("{% for %}", {}, r"not valid Jinja \(line 1\)"),
        ("{{ messages[0].content + 1 }}", {}, "the chat template failed: TypeError"),
        ("{{ 1 / 0 }}", {}, "the chat template failed: ZeroDivisionError"),
        ("{{ messages.nothing.more }}", {}, "the chat template failed: 'list object' has no attribute 'nothing'"),
        ("{{ ''.__class__ }}{{ ''.__class__.__mro__ }}", {}, "the chat template failed: access to attribute"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", {}, "the chat template failed: RecursionError"),
        (
            CHATML,
            {"template_kwargs": {"enable_thinkin": 1}},
            "enable_thinkin is not a variable .*reads: .*enable_thinking",
        ),
        (CHATML, {"template_kwargs": {"messages": []}}, "messages is set by a parameter of its own"),
        (CHATML, {"template_kwargs": {"enable_thinking": object()}}, "enable_thinking is a object"),
        (CHATML, {"continue_final_message": True}, "exclude each other: set add_generation_prompt=False"),
        (CHATML, {"tools": "f"}, "tools should be a list"),
        ("x", {"continue_final_message": True, "add_generation_prompt": False}, "changes or drops the last message"),
    ],
)
def test_errors(both, tmp_path, template, options, problem):
    ours, _ = both(template)
    with pytest.raises(ChatTemplateError, match=problem):
        ours.render([USER], **options)


def test_a_last_message_that_the_template_shortens_cannot_be_continued():
    ours = ChatTemplate({"default": "{{ messages[-1].content.split('</think>')[-1] }}"}, {})
    chat = [{"role": "assistant", "content": "a</think>b"}]
    with pytest.raises(ChatTemplateError, match="changes or drops the last message"):
        ours.render(chat, add_generation_prompt=False, continue_final_message=True)


def test_nothing_to_continue():
    ours = ChatTemplate({"default": TOOLS}, {})
    with pytest.raises(ChatTemplateError, match="has no text to continue"):
        ours.render(
            [{"role": "assistant", "tool_calls": [CALL]}], add_generation_prompt=False, continue_final_message=True
        )


@pytest.mark.parametrize("value", [3, [1], [{"name": "a"}]])
def test_malformed_configuration(tmp_path, value):
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": value}))
    with pytest.raises(ChatTemplateError, match="should be a string or a list of objects"):
        ChatTemplate.from_folder(tmp_path, {})


def test_messages_are_not_changed():
    ours = ChatTemplate({"default": "{% set _ = messages[0].update({'content': 'x'}) %}"}, {})
    chat = [dict(USER)]
    with pytest.raises(ChatTemplateError):
        ours.render(chat)
    assert chat == [USER]


def test_many_templates_from_many_threads():
    ours = ChatTemplate({"default": CHATML}, {})
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda number: ours.render([USER], template=f"{{{{ {number % 50} }}}}"), range(500)))
    assert made == [str(number % 50) for number in range(500)]
    assert len(ours._compiled) <= 32
