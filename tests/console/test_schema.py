"""The console's types are those of the API."""

import hashlib
import json
from pathlib import Path

from fairlane import Fairlane


def test_the_types_were_made_from_the_document_of_this_api(repository: Path) -> None:
    document = json.dumps(Fairlane("memory://").asgi().openapi(), sort_keys=True)
    digest = hashlib.sha256(document.encode()).hexdigest()
    made = (repository / "console" / "src" / "api" / "schema.d.ts").read_text(encoding="utf-8")
    assert digest in made.partition("\n")[0], "the API has changed: npm run schema, in console/"
