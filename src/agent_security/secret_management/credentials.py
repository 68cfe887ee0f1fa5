"""Credentials of one session (§5.3)."""

from __future__ import annotations

import secrets
from typing import NoReturn


class SessionCredentials:
    """A fresh id (12 random bytes) and token (32), URL-safe. The token is a known secret (D14).

    The token shows in no repr, str, format or pickle, and the object holds no `__dict__`.
    """

    __slots__ = ("_revoked", "_token", "session_id")

    def __init__(self) -> None:
        self.session_id = secrets.token_urlsafe(12)
        self._token = secrets.token_urlsafe(32)
        self._revoked = False

    @property
    def session_token(self) -> str:
        return self._token

    @property
    def revoked(self) -> bool:
        return self._revoked

    def revoke(self) -> None:
        """Rotate the token and mark the credentials revoked. The old token is worth nothing."""
        self._token = secrets.token_urlsafe(32)
        self._revoked = True

    def __repr__(self) -> str:
        return f"SessionCredentials(session_id={self.session_id!r}, revoked={self._revoked})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("session credentials do not leave their process")
