"""A task for a child process that logs as a library would."""

import logging

from pydantic import SecretStr


def logs_in_child(name: str, token: SecretStr) -> None:
    logging.getLogger("library").info("hello %s, %s", name, token.get_secret_value())


def length_of_secret(token: SecretStr) -> int:
    return len(token.get_secret_value())
