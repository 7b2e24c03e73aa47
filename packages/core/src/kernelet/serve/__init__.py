"""``kernelet serve``: a server on one port, its frontends, the engine behind them, and an orderly end."""
