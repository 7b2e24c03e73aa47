"""The engine: from options to a running core, and its clients."""
