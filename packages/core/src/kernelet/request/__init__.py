"""Requests as plain data."""
