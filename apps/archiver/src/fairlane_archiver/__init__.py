"""Archives the media of accounts, three accounts at a time."""
