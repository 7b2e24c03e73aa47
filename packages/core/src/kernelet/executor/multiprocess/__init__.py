"""A process a rank: how workers are spawned, talked to, watched and stopped."""
