"""What can be told of a chat template without running it."""

from __future__ import annotations

from dataclasses import dataclass

from jinja2 import meta, nodes


@dataclass(frozen=True, slots=True)
class TemplateFacts:
    """Facts of a template's source.

    Attributes:
        variables: Every name that it reads and that is given from outside: no loop's, macro's or ``set``'s own.
        reads_content_parts: It loops over a message's content, so contents may be lists of parts.
    """

    variables: frozenset[str]
    reads_content_parts: bool

    @classmethod
    def of(cls, tree: nodes.Template) -> TemplateFacts:
        """Walk a parsed template."""
        contents = _names_of_content(tree)
        loops = any(_is_content(loop.iter, contents) for loop in tree.find_all(nodes.For))
        return cls(frozenset(meta.find_undeclared_variables(tree)), loops)


def _names_of_content(tree: nodes.Template) -> frozenset[str]:
    """Variables and macro parameters that are given a message's content somewhere."""
    names: frozenset[str] = frozenset()
    while True:
        found = {
            node.target.name
            for node in tree.find_all(nodes.Assign)
            if isinstance(node.target, nodes.Name) and _is_content(node.node, names)
        }
        macros = {node.name: node for node in tree.find_all(nodes.Macro)}
        for call in tree.find_all(nodes.Call):
            if isinstance(call.node, nodes.Name) and call.node.name in macros:
                parameters = macros[call.node.name].args
                found |= {p.name for p, given in zip(parameters, call.args, strict=False) if _is_content(given, names)}
        if found <= names:
            return names
        names |= found


def _is_content(node: nodes.Node, names: frozenset[str]) -> bool:
    """Whether an expression is a message's content: ``message['content']``, ``message.content | f``, a name of it."""
    if isinstance(node, nodes.Filter):
        return node.node is not None and _is_content(node.node, names)
    if isinstance(node, nodes.Or):
        return _is_content(node.left, names) or _is_content(node.right, names)
    if isinstance(node, nodes.CondExpr):
        return any(part is not None and _is_content(part, names) for part in (node.expr1, node.expr2))
    if isinstance(node, nodes.Call):
        is_get = isinstance(node.node, nodes.Getattr) and node.node.attr == "get"
        return is_get and bool(node.args) and isinstance(node.args[0], nodes.Const) and node.args[0].value == "content"
    if isinstance(node, nodes.Getitem):
        return isinstance(node.arg, nodes.Const) and node.arg.value == "content"
    if isinstance(node, nodes.Getattr):
        return node.attr == "content"
    return isinstance(node, nodes.Name) and node.name in names
