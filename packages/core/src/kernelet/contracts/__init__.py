"""Contracts between the core and plugins: one module a domain, plain data and abstract classes, without torch."""
