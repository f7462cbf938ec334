"""The round over a real network, by Flower (an extra): whoever merges serves, every holder joins with its message.

A holder makes its message first (`client_message`), looks at it, and joins with that very text: there is nothing else
that could be asked of it. Flower's connections within a process are used; its commands (`flower-superlink`) would
also ask its makers for news of versions. Its telemetry, which is on by default, is off.
"""

from __future__ import annotations

import ipaddress
import json
import logging
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dalenius.core.errors import DataError, FileError, MissingExtraError, OptionError, counted
from dalenius.models.federated.agreement import Agreement
from dalenius.models.federated.federate import Federated, merge_messages
from dalenius.models.federated.trees import Vote

ADDRESS = "127.0.0.1:9180"
WAIT = 300.0
"""Seconds that the server waits for holders, and a holder for the server."""
MOST = 1 << 20
"""Bytes of a message at most: a tree of depth 10 has a tenth of it."""


@dataclass(frozen=True)
class Certificates:
    """Files in PEM form, for a network beyond this computer: of the authority, and the server's own two."""

    authority: Path
    server: Path | None = None
    key: Path | None = None

    def read(self) -> tuple[bytes, bytes, bytes]:
        """All three, as the server needs them."""
        if self.server is None or self.key is None:
            raise OptionError("whoever serves needs a certificate and a key of its own")
        return _bytes(self.authority), _bytes(self.server), _bytes(self.key)


def serve(
    agreement: Agreement, holders: int, *, address: str = ADDRESS, wait: float = WAIT, vote: Vote = "tree",
    certificates: Certificates | None = None,
) -> Federated:  # fmt: skip
    """Wait for so many holders, take one message of each, and merge their trees.

    Parameters
    ----------
    address
        Host and port to listen at. Beyond this computer ``certificates`` are needed.
    wait
        Seconds until all have joined, and until all have answered; then it is given up, and nothing is merged.
    """
    if holders < 1 or not wait > 0:
        raise OptionError("at least one holder joins, and the wait is above 0 seconds")
    _check_address(address, certificates)
    flwr = _flower()
    asked = _asking(flwr, agreement, holders, wait)
    secured = None if certificates is None else certificates.read()
    try:
        flwr.start_server(
            server_address=address, strategy=asked, config=flwr.ServerConfig(num_rounds=1, round_timeout=wait),
            certificates=secured, grpc_max_message_length=MOST * 4,
        )  # fmt: skip
    except (RuntimeError, OSError, SystemExit):
        raise FileError(f"{address}: cannot listen there; is the port in use?") from None
    return asked.heard.merged(agreement, holders, vote)


def join(
    message: str,
    agreement: Agreement,
    *,
    address: str = ADDRESS,
    wait: float = WAIT,
    certificates: Certificates | None = None,
) -> None:
    """Send a holder's message to whoever serves, once, and only if both agreed on the same."""
    _check_address(address, certificates)
    if len(message.encode()) > MOST:
        raise DataError(
            "the message is larger than a small tree can be; make it again, or agree on fewer questions"
        )
    merge_messages([message], agreement)  # what cannot be merged is not sent
    flwr = _flower()
    client = _answering(flwr, message, agreement)
    root = None if certificates is None else _bytes(certificates.authority)
    until, fault = time.monotonic() + wait, "nobody asked for the message"
    while not (client.sent or client.refused):  # Flower gives up where nobody listens yet
        try:
            flwr.start_client(
                server_address=address, client=client.to_client(), root_certificates=root, insecure=root is None,
                max_wait_time=wait, grpc_max_message_length=MOST * 4,
            )  # fmt: skip
        except Exception as error:  # Flower and gRPC have many of their own; none says what a holder can do
            fault = f"nobody serves there ({type(error).__name__})"
        if time.monotonic() > until:
            break
        time.sleep(min(1.0, wait / 10))
    if client.refused:
        raise DataError("whoever serves has another agreement; nothing was sent. Compare the two files")
    if not client.sent:
        raise FileError(f"{address}: {fault}; nothing was sent")


@dataclass
class _Heard:
    """What came in."""

    messages: list[str] = field(default_factory=list)
    joined: int = 0
    refused: int = 0

    def merged(self, agreement: Agreement, holders: int, vote: Vote) -> Federated:
        """One tree; an error where somebody did not come, went away, or agreed on something else."""
        again = "nothing was merged; serve again when all are there"
        if self.joined < holders:
            raise DataError(f"{self.joined} of {counted(holders, 'holder')} joined in time; {again}")
        if self.refused:
            raise DataError(f"{counted(self.refused, 'holder')} agreed on something else; {again}")
        if len(self.messages) < holders:
            raise DataError(f"{holders - len(self.messages)} of {holders} holders went away; {again}")
        texts = sorted(self.messages)  # who answers first must not matter
        tree, costs = merge_messages(texts, agreement, vote=vote)
        return Federated(agreement, tree, tuple(texts), costs)


def _asking(flwr: Any, agreement: Agreement, holders: int, wait: float) -> Any:
    """Flower's strategy of one round: wait for all, ask each, keep what they say."""

    class Asking(flwr.Strategy):  # type: ignore[misc]
        heard = _Heard()

        def initialize_parameters(self, client_manager: Any) -> Any:
            return flwr.Parameters([], "")

        def configure_fit(self, server_round: int, parameters: Any, client_manager: Any) -> list[Any]:
            there = client_manager.wait_for(holders, int(max(wait, 1)))
            proxies = list(client_manager.all().values())[:holders]
            self.heard.joined = len(proxies)
            ask = flwr.FitIns(parameters, {"agreement": agreed_text(agreement)})
            return [(proxy, ask) for proxy in proxies] if there else []

        def aggregate_fit(
            self, server_round: int, results: Sequence[Any], failures: Any
        ) -> tuple[None, dict[str, Any]]:
            said = [dict(result.metrics) for _, result in results]
            self.heard.refused = sum("refused" in held for held in said)
            self.heard.messages = [str(held["message"]) for held in said if "message" in held]
            return None, {}

        def configure_evaluate(self, server_round: int, parameters: Any, client_manager: Any) -> list[Any]:
            return []

        def aggregate_evaluate(
            self, server_round: int, results: Any, failures: Any
        ) -> tuple[None, dict[str, Any]]:
            return None, {}

        def evaluate(self, server_round: int, parameters: Any) -> None:
            return None

    return Asking()


def _answering(flwr: Any, message: str, agreement: Agreement) -> Any:
    """A holder: it has one thing to say, and says it to whoever has the same agreement."""

    class Answering(flwr.NumPyClient):  # type: ignore[misc]
        sent = False
        refused = False

        def fit(self, parameters: Any, config: dict[str, Any]) -> tuple[list[Any], int, dict[str, Any]]:
            if config.get("agreement") != agreed_text(agreement):
                self.refused = True
                return [], 1, {"refused": True}
            self.sent = True
            return [], 1, {"message": message}

    return Answering()


def agreed_text(agreement: Agreement) -> str:
    """An agreement as one text that is the same for all who agreed on the same.

    Examples
    --------
    >>> from dalenius.models.federated.agreement import Attribute
    >>> agreed_text(Agreement((Attribute("age", (0, 100)),), "ill", ("no", "yes")))[:40]
    '{"attributes": [{"bounds": [0.0, 100.0],'
    """
    plain = Agreement.from_json(agreement.to_json())  # 0 and 0.0 are one end
    return json.dumps(plain.to_json(), sort_keys=True, ensure_ascii=True)


def _flower() -> Any:
    """Flower, silent: neither its makers nor the terminal hear of a round."""
    os.environ["FLWR_TELEMETRY_ENABLED"] = "0"  # read when it is first imported
    try:
        from flwr import client, common, server  # noqa: PLC0415 (an extra)
        from flwr.server import strategy  # noqa: PLC0415
        from flwr.supercore import telemetry  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("flwr", "federated", "send messages over a network") from None
    telemetry.FLWR_TELEMETRY_ENABLED = "0"  # where somebody imported it before
    logging.getLogger("flwr").setLevel(logging.CRITICAL)

    class Names:
        start_server, ServerConfig = server.start_server, server.ServerConfig
        start_client, NumPyClient = client.start_client, client.NumPyClient
        FitIns, Parameters, Strategy = common.FitIns, common.Parameters, strategy.Strategy

    return Names


def _check_address(address: str, certificates: Certificates | None) -> None:
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise OptionError(f"an address is host and port, such as {ADDRESS}; got {address!r}")
    try:
        near = ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        near = host == "localhost"
    if not near and certificates is None:
        raise OptionError(
            f"{host} is not this computer: what goes over a network is encrypted; give certificates"
        )


def _bytes(path: Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from None
