"""What routes take behind a question mark: a route says it for the OpenAPI document, and takes nothing else."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.protocol.reading import NAME_SHOWN


def takes(**schemas: dict[str, Any]) -> dict[str, Any]:
    """``openapi_extra`` of a route.

    Args:
        schemas: JSON schemas, by the names of query parameters.
    """
    return {"parameters": [{"name": name, "in": "query", "schema": schema} for name, schema in schemas.items()]}


async def check_query(request: Request) -> None:
    """A dependency of routes.

    Raises:
        ApiError: 400: a parameter that the route does not take, or one that is there twice.
    """
    given = [name for name, _ in request.query_params.multi_items()]
    if not given:
        return
    known = [one["name"] for one in (request.scope["route"].openapi_extra or {}).get("parameters", ())]
    for place, name in enumerate(given):
        shown = name[:NAME_SHOWN]
        if name not in known:
            advice = f"it takes {', '.join(known)}" if known else "it takes none: leave it out"
            text = f"{shown}: {request.url.path[:NAME_SHOWN]} does not take this query parameter: {advice}"
            raise ApiError(400, text, param=shown, code="unknown_parameter")
        if name in given[:place]:
            raise ApiError(400, f"{shown}: the query has it more than once: give it once", param=shown)
