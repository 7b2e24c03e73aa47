"""What comes in and goes out over HTTP: a module a route."""

from __future__ import annotations
