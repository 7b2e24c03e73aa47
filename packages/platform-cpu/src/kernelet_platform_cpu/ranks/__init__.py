"""Collectives between the ranks of a model."""
