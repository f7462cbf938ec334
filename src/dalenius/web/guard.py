"""Who may talk to the page: this machine's user, from this page, and nobody else.

A one-time token in the first address becomes a cookie. Requests that come from another origin, with another host name
(DNS rebinding) or without the cookie are refused before anything is read.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
COOKIE = "dalenius"
HEADERS = [
    (b"content-security-policy", b"default-src 'none'; style-src 'self' 'unsafe-inline'; "
     b"script-src 'self' 'unsafe-eval'; "
     b"img-src 'self' data:; "
     b"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"),
    (b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"same-origin"), (b"x-frame-options", b"DENY"),
    (b"cache-control", b"no-store"), (b"cross-origin-opener-policy", b"same-origin"),
]  # fmt: skip


class Guard:
    """ASGI middleware that lets only the holder of the token in, and limits what may be sent."""

    def __init__(self, app: Any, token: str, port: int, limit: int) -> None:
        self.app, self.token, self.limit = app, token, limit
        self.cookie = secrets.token_urlsafe(32)
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, then pass it on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        if headers.get("host", "") not in self.hosts:
            await _answer(send, 403, "unknown host name")
        elif self._foreign(scope["method"], headers):
            await _answer(send, 403, "requests from other pages are refused")
        elif scope["path"] == "/enter":
            await self._enter(scope, send)
        elif not hmac.compare_digest(_cookie(headers.get("cookie", "")).encode(), self.cookie.encode()):
            await _answer(send, 401, "open the address that 'dalenius app' printed")
        elif _length(headers) > self.limit:
            await _answer(
                send, 413, "the file is larger than the page accepts; start the page with --file FILE"
            )
        else:
            await self.app(scope, _limited(receive, self.limit), _with_headers(send))

    def _foreign(self, method: str, headers: dict[str, str]) -> bool:
        """Whether a request was started by another page."""
        site = headers.get("sec-fetch-site", "none")
        if site not in ("none", "same-origin"):
            return True
        origin = headers.get("origin")
        if origin is None:
            return method not in ("GET", "HEAD") and site == "none"
        return origin not in {f"http://{host}" for host in self.hosts}

    async def _enter(self, scope: Scope, send: Send) -> None:
        given = scope["query_string"].decode("latin-1").removeprefix("token=")
        if not self.token or not hmac.compare_digest(given.encode(), self.token.encode()):
            await _answer(send, 401, "this address was used before, or is wrong; start 'dalenius app' again")
            return
        self.token = ""  # one time only
        cookie = f"{COOKIE}={self.cookie}; HttpOnly; SameSite=Strict; Path=/".encode()
        await send(
            {
                "type": "http.response.start",
                "status": 303,
                "headers": [(b"location", b"/"), (b"set-cookie", cookie), *HEADERS],
            }
        )
        await send({"type": "http.response.body", "body": b""})


def _cookie(header: str) -> str:
    parts = [part.strip().partition("=") for part in header.split(";")]
    return next((value for name, _, value in parts if name == COOKIE), "")


def _length(headers: dict[str, str]) -> int:
    given = headers.get("content-length", "0")
    return int(given[:20]) if given.isascii() and given.isdigit() else 0


class TooLargeError(Exception):
    """More was sent than announced or allowed."""


def _limited(receive: Receive, limit: int) -> Receive:
    seen = 0

    async def counted() -> dict[str, Any]:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > limit:
            raise TooLargeError
        return message

    return counted


def _with_headers(send: Send) -> Send:
    async def adding(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *HEADERS]}
        await send(message)

    return adding


async def _answer(send: Send, status: int, text: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), *HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})
