"""A store in memory, for tests and for programs whose jobs need not survive."""
