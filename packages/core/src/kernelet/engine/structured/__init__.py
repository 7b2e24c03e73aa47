"""Structured output while requests are prepared and run: constraints to rules, rules to grammars, grammars to masks."""
