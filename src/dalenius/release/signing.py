"""Signatures: the steward's Ed25519 key under the manifest of a pack (RFC 8032).

Hashes show accidents. Whoever can edit a file can also rewrite its hash, but not the signature, which needs the private
key; it is checked with the public key, which must come to the reader by another way than the pack.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalenius.core.errors import FileError
from dalenius.data.atomic import PRIVATE_FILE, push, readable_name, write_text

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

PURPOSE = b"dalenius release manifest 1\n"
"""Stands before what is signed, so that a signature made here means nothing elsewhere."""


def new_key(path: str | Path) -> str:
    """Make a key pair: the private key at ``path`` for its owner only, the public key beside it (``.pub``).

    Returns the fingerprint by which people can compare public keys.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "steward.key"
    >>> len(new_key(place)), sorted(p.name for p in place.parent.iterdir())
    (32, ['steward.key', 'steward.pub'])
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 (slow to load)
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    place = readable_name(path)
    key = Ed25519PrivateKey.generate()
    try:
        handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    except FileExistsError:
        raise FileError(f"{place}: there is a file already; a key is never overwritten") from None
    except OSError as error:
        raise FileError(f"{place}: cannot write here ({error.strerror}); choose another place") from None
    with os.fdopen(handle, "wb") as stream:
        stream.write(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    push(place)
    public = key.public_key()
    text = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    write_text(place.with_suffix(".pub"), text)
    return fingerprint(public)


def fingerprint(key: Ed25519PublicKey) -> str:
    """Short name of a public key: the first half of its SHA-256."""
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()[:32]


def signature(manifest: bytes, key: Path) -> str:
    """The signature of a manifest as text, with the fingerprint of the key.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "steward.key"
    >>> _ = new_key(place)
    >>> said = signature(b"files", place)
    >>> signature_fault(b"files", said, place.with_suffix(".pub"))
    ''
    >>> signature_fault(b"other files", said, place.with_suffix(".pub"))
    'the signature does not fit: the manifest was changed after it was signed'
    """
    private = _private(key)
    signed = base64.b64encode(private.sign(PURPOSE + manifest)).decode()
    facts = {"key": fingerprint(private.public_key()), "signature": signed}
    return json.dumps(facts, indent=1, sort_keys=True) + "\n"


def signature_fault(manifest: bytes, said: str | None, key: Path) -> str:
    """What is wrong with a signature, by the steward's public key; empty when nothing is."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 (slow to load)

    public = read_public(key)
    if said is None:
        return "the pack is not signed"
    if signed_by(said) != fingerprint(public):
        return "the signature was made with another key than the steward's"
    try:
        signed = base64.b64decode(str(json.loads(said)["signature"]), validate=True)
        public.verify(signed, PURPOSE + manifest)
    except (InvalidSignature, ValueError, KeyError):
        return "the signature does not fit: the manifest was changed after it was signed"
    return ""


def signed_by(said: str) -> str:
    """Fingerprint of the key that a signature names; empty when it is damaged."""
    try:
        facts = json.loads(said)
        return str(facts["key"]) if set(facts) == {"key", "signature"} else ""
    except (ValueError, TypeError, KeyError):
        return ""


def read_public(path: Path) -> Ed25519PublicKey:
    """The steward's public key."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_public_key  # noqa: PLC0415

    return _key(path, load_pem_public_key, Ed25519PublicKey, "public")


def _private(path: Path) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    return _key(path, lambda data: load_pem_private_key(data, None), Ed25519PrivateKey, "private")


def _key(path: Path, load: Any, kind: Any, word: str) -> Any:
    try:
        key = load(Path(path).read_bytes())
    except OSError as error:
        raise FileError(f"{path}: the key cannot be read ({error.strerror})") from None
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, kind):
        raise FileError(f"{path}: this is not a {word} Ed25519 key; make a pair with 'dalenius key new'")
    return key
