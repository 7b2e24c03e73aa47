"""Documents ranked by a query, as a plugin of Kernelet."""

from __future__ import annotations
