from fairlane.store.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
