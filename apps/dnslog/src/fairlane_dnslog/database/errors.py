"""Errors of the database, the same for both dialects.

DatabaseError             the statement or transaction had no effect
├── BadAddress            the setting `database` cannot be used
├── ConstraintViolated    a row breaks a rule of the schema
├── DatabaseDamaged       the file is not a database, or is corrupt
├── DatabaseUnavailable   it may succeed when tried again: server gone, file locked, disk full
└── SchemaTooNew          a newer version of the program has migrated the tables
"""


class DatabaseError(Exception):
    pass


class BadAddress(DatabaseError):
    pass


class ConstraintViolated(DatabaseError):
    pass


class DatabaseDamaged(DatabaseError):
    pass


class DatabaseUnavailable(DatabaseError):
    """The database cannot be used for now.

    After a failed commit the caller cannot know whether the server has executed it, so whatever is
    tried again must be safe to repeat.
    """


class SchemaTooNew(DatabaseError):
    def __init__(self, *, found: int, known: int) -> None:
        super().__init__(
            f"the tables have version {found}, and this program knows versions up to {known}; "
            "install the version of fairlane-dnslog that migrated them, or a newer one"
        )
        self.found = found
        self.known = known
