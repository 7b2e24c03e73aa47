"""Load on an OpenAI-compatible server: when requests are sent, what came back when, and what that amounts to."""
