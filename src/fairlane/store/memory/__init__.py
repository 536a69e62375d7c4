"""A store in memory, for tests and for programs that keep nothing."""
