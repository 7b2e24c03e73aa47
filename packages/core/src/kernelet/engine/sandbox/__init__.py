"""Work for requests that could run for ever, fill the memory or crash: done in helper processes that can be killed.

``kernelet.engine.sandbox.pool.Sandbox`` is the way in. This package imports nothing itself: helpers stay small.
"""
