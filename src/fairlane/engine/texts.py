"""Text that can be stored: whatever Python calls a string, but not lone surrogates.

A file name that is not UTF-8 reaches us with surrogates in it (`os.fsdecode`), and so does an error
message that quotes it. No database and no JSON takes them.
"""


def storable(text: object) -> str:
    """Return the text with what cannot be stored written out as escapes."""
    plain = str(text)
    try:
        plain.encode()
    except UnicodeEncodeError:
        return plain.encode("utf-8", "backslashreplace").decode()
    return plain
