"""Launching workers."""
