"""Secret parameters at rest: encrypted with the keys of the program, if it has any.

An encrypted secret is stored as `{"fernet": token}`. A secret in clear is a text, so the two cannot
be confused, and a program may get its first key while jobs with clear secrets wait.
"""

import os
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, Final

from fairlane.errors import BadSetting, SecretsUnreadable

SecretsKey = str | bytes | Sequence[str | bytes]

VARIABLE: Final = "FAIRLANE_SECRETS_KEY"
_MARK: Final = "fernet"
_MAKE_ONE: Final = (
    'make one with python -c "from cryptography.fernet import Fernet; '
    'print(Fernet.generate_key().decode())"'
)


class SecretCipher:
    """Encrypts with the first of its keys and decrypts with any of them."""

    def __init__(self, key: SecretsKey) -> None:
        keys = [key] if isinstance(key, str | bytes) else key
        try:
            from cryptography.fernet import Fernet, InvalidToken, MultiFernet
        except ImportError:
            raise BadSetting(
                'secrets_key needs the package cryptography: pip install "fairlane[secrets]"'
            ) from None
        try:
            self._fernet = MultiFernet([Fernet(key) for key in keys])
            self._keys = [key.encode() if isinstance(key, str) else key for key in keys]
        except (TypeError, ValueError):  # the message must not quote a key
            raise BadSetting(
                "secrets_key is not a Fernet key (32 bytes in URL-safe base64, 44 characters) or a "
                f"list of such keys; {_MAKE_ONE}"
            ) from None
        self._invalid = InvalidToken

    def encrypt(self, secret: str) -> str:
        return self._fernet.encrypt(secret.encode()).decode()

    def decrypt(self, token: Any) -> str:
        try:
            return self._fernet.decrypt(token).decode()
        except (self._invalid, TypeError, ValueError):
            raise SecretsUnreadable(
                "its secret parameters were encrypted with another secrets_key; start the program "
                "with that key, or with a list of keys that includes it"
            ) from None

    def digests(self, text: str) -> list[str]:
        """Return a digest by each key, the first key first.

        A digest without a key would let a reader of the database test guesses of a secret.
        """
        return [
            blake2b(text.encode(), key=blake2b(key).digest(), digest_size=32).hexdigest()
            for key in self._keys
        ]


def cipher_for(key: SecretsKey | None) -> SecretCipher | None:
    """Return the cipher of a program; without a key, the environment may name several."""
    if key is None:
        named = os.environ.get(VARIABLE)
        return SecretCipher([part.strip() for part in named.split(",")]) if named else None
    return SecretCipher(key)


def encrypt_secrets(
    values: dict[str, Any], names: Iterable[str], cipher: SecretCipher
) -> dict[str, Any]:
    """Replace the named texts by their encrypted form."""
    texts = {name: text for name in names if isinstance(text := values.get(name), str)}
    return {**values, **{name: {_MARK: cipher.encrypt(text)} for name, text in texts.items()}}


def decrypt_secrets(
    values: dict[str, Any], names: Iterable[str], cipher: SecretCipher | None
) -> dict[str, Any]:
    """Replace the named values that are encrypted by their texts."""
    sealed = {
        name: value.get(_MARK) for name in names if isinstance(value := values.get(name), dict)
    }
    if sealed and cipher is None:
        raise SecretsUnreadable(
            "its secret parameters are encrypted, and this program has no secrets_key; start it "
            f"with Fairlane(secrets_key=…) or with {VARIABLE}"
        )
    if cipher is None:
        return values
    return {**values, **{name: cipher.decrypt(token) for name, token in sealed.items()}}
