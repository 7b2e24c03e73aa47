"""Services on the null platform."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from null_service import Served, environment

from kernelet.testing.null.model import null_config, write_model


@pytest.fixture(scope="session")
def null_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_model(tmp_path_factory.mktemp("null-model"), null_config(max_model_len=1 << 20)))


@pytest.fixture
def serve(null_folder: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Served]]:
    """Starts services; what of them is left at the end is killed."""
    started: list[Served] = []
    temporary = tmp_path_factory.mktemp("t")

    def serve(*arguments: object, wait: bool = True, **environ: str) -> Served:
        service = Served(null_folder, *arguments, **environment(TMPDIR=str(temporary), **environ))
        started.append(service)
        return service.wait() if wait else service

    yield serve
    for service in started:
        service.kill()
    # what a service had for itself among the temporary files is gone, however it ended
    assert not list(temporary.iterdir())
