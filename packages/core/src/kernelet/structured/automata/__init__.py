"""Regular languages over Unicode: written with operators, read from patterns, asked, and written out as rules."""
