"""From a command line's options to a service that runs: what can be refused early is, and nothing is left behind."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import FrameType

from kernelet.engine.bootstrap import Configured, configure_engine
from kernelet.engine.option_sources import ResolvedOptions
from kernelet.serve.endpoints import check_tasks
from kernelet.serve.engine import Joined, start_engine
from kernelet.serve.frontends import Frontends
from kernelet.serve.messages import FrontendStart
from kernelet.serve.options import ServeOptions
from kernelet.serve.plan import ServePlan, make_plan
from kernelet.serve.service import CUT, Service
from kernelet.serve.sockets import Listener, bind

logger = logging.getLogger(__name__)


def configure(model: str, resolved: ResolvedOptions, options: ServeOptions) -> tuple[Configured, ServePlan]:
    """Decides on everything without starting it.

    Raises:
        KerneletError: something does not fit, and what to do.
    """
    configured = configure_engine(model, resolved, endpoints=options.endpoint)
    plan = make_plan(
        configured.kernel,
        options.server,
        options.endpoint,
        options.served_model_name or (model,),
        options.api_server_count,
    )
    return replace(configured, served_model_name=plan.served_model_names[0]), plan


def serve(model: str, resolved: ResolvedOptions, options: ServeOptions) -> int:
    """Serves a model until a signal comes; returns the exit code.

    Raises:
        KerneletError: it does not start, or the engine died.
    """
    configured, plan = configure(model, resolved, options)
    listener = bind(options)
    try:
        with ending_at_once():
            joined = start_engine(configured, restart=options.restart_engine)
        try:
            check_tasks(plan.endpoints, joined.engine.supported_tasks, model)
            return asyncio.run(make_service(configured, plan, joined, listener, options).run())
        finally:
            joined.close()
    finally:
        listener.close()


def make_service(
    configured: Configured, plan: ServePlan, joined: Joined, listener: Listener, options: ServeOptions
) -> Service:
    """The service around a started engine."""
    start = FrontendStart(
        manifest=configured.kernel.manifest.encode(),
        config=configured.config,
        engine=joined.address,
        index=0,
        num_frontends=plan.num_frontends,
        restarts=options.restart_engine,
        sockets=[listener.socket.fileno()],
        server=plan.server.offer.name,
        served_model_names=list(plan.served_model_names),
        path=sys.path,
        log_level=logging.getLogger("kernelet").level,
    )
    return Service(
        plan=plan,
        joined=joined,
        sockets=[listener.socket],
        others=Frontends(start=start, digest=joined.manifest_digest),
        timeout=options.shutdown_timeout,
        on_ready=partial(announce, plan, listener),
        restarts=options.restart_engine,
    )


def announce(plan: ServePlan, listener: Listener) -> None:
    """Tells people where the service is."""
    endpoints = "".join(f", {owned.offer.name} at {owned.offer.prefix}" for owned in plan.endpoints)
    logger.info(
        "serving %s at %s: server %s, frontends: %d%s",
        ", ".join(plan.served_model_names),
        listener.address,
        plan.server.offer.name,
        plan.num_frontends,
        endpoints,
    )


@contextmanager
def ending_at_once() -> Iterator[None]:
    """A SIGTERM ends a start in an orderly way, as an interrupt does."""

    def end(number: int, _: FrameType | None) -> None:
        sys.exit(CUT + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
