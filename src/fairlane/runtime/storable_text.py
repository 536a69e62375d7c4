"""Text that can be stored: Python strings without lone surrogates.

A file name that is not UTF-8 has surrogates (`os.fsdecode`), and so has an error message that
quotes it. Databases and JSON refuse them. A name may not contain NUL either, which PostgreSQL
refuses.
"""


def storable(text: object) -> str:
    """Return the text with lone surrogates replaced by escapes."""
    plain = str(text)
    try:
        plain.encode()
    except UnicodeEncodeError:
        return plain.encode("utf-8", "backslashreplace").decode()
    return plain


def storable_name(text: object) -> str:
    """Return the text with lone surrogates and NUL replaced by escapes."""
    return storable(text).replace("\x00", r"\x00")
