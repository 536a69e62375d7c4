"""Text that can be stored: whatever Python calls a string, but not lone surrogates.

A file name that is not UTF-8 reaches us with surrogates in it (`os.fsdecode`), and so does an error
message that quotes it. No database and no JSON takes them. A name may not hold NUL either, which
PostgreSQL does not take.
"""


def storable(text: object) -> str:
    """Return the text with what cannot be stored written out as escapes."""
    plain = str(text)
    try:
        plain.encode()
    except UnicodeEncodeError:
        return plain.encode("utf-8", "backslashreplace").decode()
    return plain


def storable_name(text: object) -> str:
    """Return the same without NUL: things are looked for by their names."""
    return storable(text).replace("\x00", r"\x00")
