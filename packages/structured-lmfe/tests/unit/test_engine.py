from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.structured import EMPTY, Chars, Concat, GrammarRules, Repeat, Rule, Text, Union
from kernelet.testing.grammar_engine.vocabulary import byte_vocabulary
from kernelet_structured_lmfe import tokens as module
from kernelet_structured_lmfe.engine import LmfeEngine
from kernelet_structured_lmfe.tokens import Tokens

DIGITS = Chars(((48, 57),))
ANY_JSON = GrammarRules(
    {
        "root": Union((Rule("object"), Rule("array"), Rule("string"), Rule("number"), Text("true"), Text("null"))),
        "object": Concat((Text("{"), Union((EMPTY, Rule("pairs"))), Text("}"))),
        "pairs": Union((Rule("pair"), Concat((Rule("pairs"), Text(","), Rule("pair"))))),
        "pair": Concat((Rule("string"), Text(":"), Rule("root"))),
        "array": Concat((Text("["), Union((EMPTY, Rule("items"))), Text("]"))),
        "items": Union((Rule("root"), Concat((Rule("root"), Text(","), Rule("items"))))),
        "string": Concat((Text('"'), Repeat(Rule("character"), 0, 5), Text('"'))),
        "character": Union((Chars(((32, 33), (35, 91), (93, 0xD7FF), (0xE000, 0x10FFFF))), Text('\\"'), Text("\\\\"))),
        "number": Union((Text("0"), Concat((Chars(((49, 57),)), Repeat(DIGITS, 0, 3))))),
    }
)


@pytest.fixture(scope="module")
def engine() -> LmfeEngine:
    return LmfeEngine(Settings(plugin="lmfe"), byte_vocabulary())


def test_what_it_writes_of_json_is_json_and_what_json_writes_it_accepts(engine):
    compiled = engine.load(engine.compile(ANY_JSON))
    tokens = engine.vocabulary.token_bytes
    random = Random(3)
    for _ in range(30):
        answer, text = compiled.start(), b""
        while not answer.must_end():
            fitting = [token for token in range(len(tokens)) if answer.validate([token])]
            closing = [token for token in fitting if tokens[token] in {b'"', b"}", b"]", b"0"}]
            token = random.choice(closing if closing and random.random() < 0.4 else fitting)
            assert answer.accept([token])
            text += tokens[token]
        assert answer.can_end()
        again = compiled.start()
        assert again.accept(list(json.dumps(pairs(text), ensure_ascii=False, separators=(",", ":")).encode()))
        assert again.can_end()


def pairs(text: bytes) -> object:
    return json.loads(text)


@pytest.mark.parametrize("text", ['{"a" 1}', "[1,]", "[01]", '"abcdef"', "[", "{]", '{"a":1,"b"}', "1 "])
def test_what_is_no_json_is_refused(engine, text):
    answer = engine.load(engine.compile(ANY_JSON)).start()
    data = list(text.encode())

    assert answer.validate(data) < len(data) or not answer.can_end()


ONLY_COMPILES = """
import sys
from kernelet.contracts.offer import Settings
from kernelet.contracts.structured import GrammarRules, Text, TokenVocabulary
from kernelet_structured_lmfe.engine import LmfeEngine

vocabulary = TokenVocabulary(token_bytes=(b"a",), stop_token_ids=(), digest="")
assert LmfeEngine(Settings(plugin="lmfe"), vocabulary).compile(GrammarRules({"root": Text("a")}))
assert not {"lmformatenforcer", "torch"} & set(sys.modules)
"""


def test_where_it_only_compiles_the_library_is_not_imported():
    """Helper processes do: the library's import of torch takes seconds, and hundreds of megabytes."""
    subprocess.run([sys.executable, "-c", ONLY_COMPILES], check=True)


def test_an_engine_reads_its_vocabulary_once(monkeypatch):
    made = []
    monkeypatch.setattr(module, "Tokens", lambda vocabulary: made.append(vocabulary) or Tokens(vocabulary))
    engine = LmfeEngine(Settings(plugin="lmfe"), byte_vocabulary())
    compiled = engine.compile(GrammarRules({"root": Text("a")}))
    assert made == []
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(engine.load, [compiled] * 8))

    assert made == [engine.vocabulary]
