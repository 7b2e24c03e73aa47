"""Classes written for the major before today's: made and called as that contract had it.

One module a domain and major, one line each in ``kernelet.kernel.older.adapt``; dropping a major deletes both, and its
entry in ``kernelet.kernel.deprecations``.
"""
