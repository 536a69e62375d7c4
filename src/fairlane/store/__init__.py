"""The databases of Fairlane: one protocol, one conformance suite, several implementations."""
