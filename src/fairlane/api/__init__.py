"""The HTTP face: every operation, from a browser, a terminal or another program."""
