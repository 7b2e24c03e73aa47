"""Texts of which only parts are constrained: structural tags, and calls of tools."""
