"""Schemas dense in combinations, and instances that tell them apart; few names, few values, so that things meet."""

from __future__ import annotations

NAMES = ("a", "b", "ab", "c")
PATTERNS = ("^a", "b$", "^[ab]*$", "c")
SCALARS = (None, True, False, 0, 1, 2, 3, 1.0, 0.5, -1, 6, "", "a", "b", "ab", "abc", "\U0001f600")


def random_value(random, depth=2):
    """An instance."""
    kind = random.randrange(4 if depth else 2)
    if kind < 2:
        return random.choice(SCALARS)
    if kind == 2:
        return [random_value(random, depth - 1) for _ in range(random.randrange(4))]
    return {random.choice(NAMES): random_value(random, depth - 1) for _ in range(random.randrange(4))}


def random_schema(random, depth=3, refs=()):
    """A schema of draft 2020-12."""
    if depth <= 0 or random.random() < 0.06:
        return random.choice((True, False, {}, *SIMPLE(random), *({"$ref": each} for each in refs)))
    schema = {}
    for _ in range(random.choice((1, 1, 2, 2, 3))):
        schema |= random.choice(KINDS)(random, depth - 1, refs)
    return schema


def random_document(random, depth=3):
    """A schema whose parts refer to definitions, also in circles."""
    refs = ("#/$defs/one", "#/$defs/two", "#")
    schema = random_schema(random, depth, refs)
    if isinstance(schema, bool):
        return schema
    return {**schema, "$defs": {name: random_schema(random, depth - 1, refs) for name in ("one", "two")}}


def SIMPLE(random):  # noqa: N802
    return (
        {"type": random.choice(("string", "integer", "number", "object", "array", "null", "boolean"))},
        {"const": random.choice(SCALARS)},
        {"enum": random.sample(SCALARS, 3)},
        {"minimum": random.choice((0, 1, 0.5))},
        {"minLength": random.randrange(3)},
        {"pattern": random.choice(PATTERNS)},
    )


def _types(random, depth, refs):
    names = ("string", "integer", "number", "object", "array", "null", "boolean")
    return {"type": random.sample(names, random.randrange(1, 4))}


def _values(random, depth, refs):
    if random.random() < 0.5:
        return {"const": random_value(random, 1)}
    return {"enum": [random_value(random, 1) for _ in range(random.randrange(1, 5))]}


def _numbers(random, depth, refs):
    return random.choice(
        (
            {"minimum": random.choice((0, 1, 0.5))},
            {"maximum": random.choice((1, 2, 2.5))},
            {"exclusiveMinimum": random.choice((0, 1))},
            {"exclusiveMaximum": random.choice((2, 3))},
            {"multipleOf": random.choice((1, 2, 3, 0.5))},
        )
    )


def _strings(random, depth, refs):
    return random.choice(
        (
            {"minLength": random.randrange(3)},
            {"maxLength": random.randrange(3)},
            {"pattern": random.choice(PATTERNS)},
        )
    )


def _objects(random, depth, refs):
    some = random.sample(NAMES, random.randrange(1, 3))

    def inner():
        return random_schema(random, depth, refs)

    return random.choice(
        (
            {"properties": {name: inner() for name in some}},
            {"properties": {name: inner() for name in some}, "additionalProperties": inner()},
            {"properties": {name: inner() for name in some}, "required": some[:1]},
            {"patternProperties": {random.choice(PATTERNS): inner()}},
            {"additionalProperties": inner()},
            {"propertyNames": random_schema(random, min(depth, 1))},
            {"required": some},
            {"minProperties": random.randrange(3)},
            {"maxProperties": random.randrange(3)},
            {"dependentRequired": {some[0]: random.sample(NAMES, 1)}},
            {"dependentSchemas": {some[0]: inner()}},
            {"unevaluatedProperties": inner()},
        )
    )


def _arrays(random, depth, refs):
    def inner():
        return random_schema(random, depth, refs)

    return random.choice(
        (
            {"items": inner()},
            {"prefixItems": [inner() for _ in range(random.randrange(1, 3))]},
            {"prefixItems": [inner() for _ in range(random.randrange(1, 3))], "items": inner()},
            {"minItems": random.randrange(3)},
            {"maxItems": random.randrange(3)},
            {"contains": inner()},
            {"contains": inner(), "minContains": random.randrange(3)},
            {"contains": inner(), "maxContains": random.randrange(3)},
            {"uniqueItems": random.random() < 0.8},
            {"unevaluatedItems": inner()},
        )
    )


def _combined(random, depth, refs):
    def inner():
        return random_schema(random, depth, refs)

    def several():
        return [inner() for _ in range(random.randrange(1, 4))]

    return random.choice(
        (
            {"allOf": several()},
            {"anyOf": several()},
            {"oneOf": several()},
            {"not": inner()},
            {"if": inner(), "then": inner(), "else": inner()},
            {"if": inner(), "then": inner()},
            {"if": inner(), "else": inner()},
            *({"$ref": each} for each in refs),
        )
    )


KINDS = (_types, _values, _numbers, _strings, _objects, _objects, _arrays, _combined, _combined)


def constants(schema):
    """Values that a schema names."""
    if isinstance(schema, list):
        for one in schema:
            yield from constants(one)
    elif isinstance(schema, dict):
        for keyword, value in schema.items():
            if keyword == "const":
                yield value
            elif keyword == "enum" and isinstance(value, list):
                yield from value
            else:
                yield from constants(value)


def in_draft_7(schema):
    """The schema with the keywords of draft 7; those that it does not have are left, and say nothing there."""
    if isinstance(schema, list):
        return [in_draft_7(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    written = {}
    for keyword, value in schema.items():
        match keyword:
            case "const" | "enum":
                written[keyword] = value
            case "prefixItems":
                written["items"] = in_draft_7(value)
            case "items" if "prefixItems" in schema:
                written["additionalItems"] = in_draft_7(value)
            case "dependentRequired":
                written["dependencies"] = value
            case "$ref":
                written["$ref"] = value.replace("$defs", "definitions")
            case "properties" | "patternProperties" | "dependentSchemas" | "$defs":
                name = {"dependentSchemas": "dependencies", "$defs": "definitions"}.get(keyword, keyword)
                written[name] = {each: in_draft_7(one) for each, one in value.items()}
            case _:
                written[keyword] = in_draft_7(value)
    return written
