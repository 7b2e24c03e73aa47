"""The machine that runs the tables of tool and reasoning parsers over a growing text."""
