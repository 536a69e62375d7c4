"""Turns a link or a video into text: what is said and shown in it, with times."""
