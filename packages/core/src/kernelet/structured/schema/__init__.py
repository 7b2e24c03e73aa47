"""JSON schemas become rules: read, brought into one form, written."""
