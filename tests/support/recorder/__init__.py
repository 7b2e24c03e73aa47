"""A plugin that notes, for each process, which of its hooks are called and which of its modules are imported."""
