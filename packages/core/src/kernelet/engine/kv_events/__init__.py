"""Tells others what enters and leaves the prefix cache, as vLLM does."""
