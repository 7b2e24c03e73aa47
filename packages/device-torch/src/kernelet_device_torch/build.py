"""What the installed torch was built for, without importing it."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path


def torch_build(name: str) -> tuple[str | None, str]:
    """A version that torch was built for, and the sentence why there is none.

    Args:
        name: As ``torch.version`` calls it.

    Returns:
        The version or None; why, which is empty where there is one.
    """
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        return None, "torch is not installed"
    path = Path(spec.origin).parent / "version.py"
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError):
        return None, f"the installed torch does not say what it was built for: {path} cannot be read"
    found = {target: value for node in tree.body for target, value in _assigned(node)}
    if found.get(name):
        return str(found[name]), ""
    return None, f"the installed torch {found.get('__version__', '')} was built for another device"


def _assigned(node: ast.stmt) -> list[tuple[str, object]]:
    if isinstance(node, ast.Assign):
        targets: list[ast.expr] = node.targets
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
    else:
        return []
    if not isinstance(node.value, ast.Constant):
        return []
    return [(target.id, node.value.value) for target in targets if isinstance(target, ast.Name)]
