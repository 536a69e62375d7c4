"""Where everything is kept: one protocol, one conformance suite, several databases."""
