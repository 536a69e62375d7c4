"""The clients of the log that forms offer, those seen last first."""

from typing import Final

from fairlane_dnslog.database import Row, Transaction
from fairlane_dnslog.web.visible_text import plain

MOST_CHOICES: Final = 200
_CLIENTS: Final = "SELECT name, label FROM client ORDER BY last_at_ns DESC LIMIT :most"


def read_client_choices(tx: Transaction) -> list[Row]:
    """Return names and labels. A name that a person could not type or see is left out."""
    rows = tx.rows(_CLIENTS, most=MOST_CHOICES)
    return [row for row in rows if plain(row["name"]) == row["name"]]
