"""``kernelet plugins doctor``: looks closely at what is installed, each piece in a child process of its own.

A plugin that crashes, hangs or ends its process is a finding; the process that asks imports no plugin at all.
"""
