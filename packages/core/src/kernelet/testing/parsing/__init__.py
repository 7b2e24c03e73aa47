"""What the suites of parsers share: samples, the ways to cut a text, random calls."""
