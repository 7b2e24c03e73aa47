"""Structured output: constraints become rules, rules become masks; engines are plugins."""
