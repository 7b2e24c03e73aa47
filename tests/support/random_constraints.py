"""Constraints at random, each in the form in which a request has it: what an independent judge knows as well."""

from __future__ import annotations

from random import Random

NAMES = ("a", "name", "ä", 'quote"', "\U0001f600", "a/b")
VALUES = (None, True, False, 0, 1, -3, 2.5, "", "a", "ä\n", "\U0001f600", [1, "a"], {"a": None})
PATTERNS = ("^[a-c]{2,4}$", "b", "^x", "\\d+$", '^[^"\\\\]{1,3}$', "^(ab|c)*$", "[à-ÿ]")
FORMATS = ("date", "uuid", "ipv4")
TEXTS = ("", "a", "ab", "abc", "ä€", "\U0001f600\U0001f601", 'say "x"\n', "\\", "a\tb", "ab\u2028")

ATOMS = ("a", "b", "[a-c]", "[^a-z\\n]", "\\d", "\\.", "ä", "\U0001f600", "[€-\U0001f64f]", "[0-9a-f]", "\\[", " ")


def random_schema(random: Random, depth: int = 3) -> object:
    """A schema of draft 2020-12, of parts that are often combined."""
    if random.random() < 0.04:
        return True
    kinds = [_number, _integer, _string, _text, _value, _enum]
    if depth:
        kinds += [_object] * 4 + [_array] * 3 + [_any_of, _all_of, _nullable]
    return random.choice(kinds)(random, depth - 1)


def _number(random: Random, _: int) -> object:
    low = random.choice([-10, 0, 0.5, 3])
    return {
        "type": "number",
        "minimum": low,
        random.choice(["maximum", "exclusiveMaximum"]): low + random.randint(1, 9),
    }


def _integer(random: Random, _: int) -> object:
    schema = {"type": "integer"}
    if random.random() < 0.5:
        schema["minimum"] = random.randint(-20, 20)
    if random.random() < 0.5:
        schema["maximum"] = random.randint(21, 2000)
    if random.random() < 0.3:
        schema["multipleOf"] = random.choice([1, 2, 5, 7])
    return schema


def _string(random: Random, _: int) -> object:
    least = random.randint(0, 3)
    return {"type": "string", "minLength": least, "maxLength": least + random.randint(0, 5)}


def _text(random: Random, _: int) -> object:
    if random.random() < 0.3:
        return {"type": "string", "format": random.choice(FORMATS)}
    schema = {"type": "string", "pattern": random.choice(PATTERNS)}
    return schema | ({"maxLength": 6} if random.random() < 0.5 else {})


def _value(random: Random, _: int) -> object:
    return {"const": random.choice(VALUES)}


def _enum(random: Random, _: int) -> object:
    return {"enum": random.sample(VALUES, random.randint(1, 5))}


def _object(random: Random, depth: int) -> object:
    names = random.sample(NAMES, random.randint(0, 4))
    schema = {"type": "object", "properties": {name: random_schema(random, depth) for name in names}}
    schema["required"] = [name for name in names if random.random() < 0.6]
    if random.random() < 0.7:
        schema["additionalProperties"] = False if random.random() < 0.7 else random_schema(random, 0)
    if names and random.random() < 0.2:
        schema["dependentRequired"] = {names[0]: names[-1:]}
    return schema


def _array(random: Random, depth: int) -> object:
    schema = {"type": "array", "maxItems": random.randint(2, 4), "minItems": random.randint(0, 2)}
    if random.random() < 0.3:
        schema["prefixItems"] = [random_schema(random, depth) for _ in range(random.randint(1, 2))]
    if random.random() < 0.8:
        schema["items"] = random_schema(random, depth)
    if random.random() < 0.1:
        schema["items"], schema["uniqueItems"] = {"enum": [1, 2, "a", None, True]}, True
    return schema


def _any_of(random: Random, depth: int) -> object:
    return {random.choice(["anyOf", "oneOf"]): [random_schema(random, depth) for _ in range(random.randint(1, 3))]}


def _all_of(random: Random, depth: int) -> object:
    return {"allOf": [_object(random, depth), _object(random, depth)]}


def _nullable(random: Random, depth: int) -> object:
    return {"anyOf": [random_schema(random, depth), {"type": "null"}]}


def random_pattern(random: Random, depth: int = 3) -> str:
    """A regular expression that Python reads as core does."""
    if not depth:
        atoms = (
            "a",
            "b",
            "[a-c]",
            "[^a-z\\n]",
            "\\d",
            "\\.",
            "ä",
            "\U0001f600",
            "[€-\U0001f64f]",
            "[0-9a-f]",
            "\\[",
            " ",
        )
        return random.choice(atoms)
    kind = random.randrange(5)
    if kind == 0:
        return "".join(random_pattern(random, depth - 1) for _ in range(random.randint(1, 3)))
    if kind == 1:
        return f"({random_pattern(random, depth - 1)}|{random_pattern(random, depth - 1)})"
    if kind == 2:
        return f"(?:{random_pattern(random, depth - 1)}){random.choice(['*', '+', '?', '{2}', '{1,3}', '{2,}'])}"
    return random_pattern(random, depth - 1)


def random_choice(random: Random) -> list[str]:
    """Texts, of which some begin others."""
    texts = list(random.sample(TEXTS[1:], random.randint(1, 4)))
    for _ in range(random.randint(0, 3)):
        code = random.choice(
            [random.randint(0x20, 0x7E), random.randint(0xA0, 0xD7FF), random.randint(0x10000, 0x10FFFF)]
        )
        texts.append(random.choice(texts) + chr(code))
    return sorted(set(texts))


def random_grammar(random: Random) -> str:
    """GBNF with recursion."""
    atoms = ('"a"', '"b"', "[0-9]", '"ä€"', '[^"\\\\\\n]', '"\\""', "[a-z]")

    def some() -> str:
        parts = [random.choice([*atoms, "item", "list"]) + random.choice(["", "", "", "?", "*", "+", "{1,3}"])]
        parts += [random.choice(atoms) for _ in range(random.randint(0, 2))]
        return " ".join(parts)

    return "\n".join(
        (
            f"root ::= {random.choice(atoms)} {some()} | {some()}",
            f"item ::= {random.choice(atoms)} | {some()} {random.choice(atoms)} | {random.choice(atoms)}",
            f'list ::= "[" item ("," item){random.choice(["*", "?"])} "]" | "(" root ")" | {random.choice(atoms)}',
        )
    )
