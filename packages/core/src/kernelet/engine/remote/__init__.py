"""The engine as a process of its own: how it is spawned, talked to, watched and restarted."""
