"""The promises, each checked against a world's journal."""
