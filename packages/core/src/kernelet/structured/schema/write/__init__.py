"""Shapes become rules."""
