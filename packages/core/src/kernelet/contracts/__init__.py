"""Contracts between the core and plugins: one module a domain, plain data and abstract classes; no torch at run time."""
