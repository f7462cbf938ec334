"""Options of `dalenius models federate`, and the files that go between them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from dalenius.core.errors import DataError, FileError, OptionError
from dalenius.data.atomic import replacing
from dalenius.models.federated import Agreement

SchemaArgument = Annotated[
    Path, typer.Argument(help="Schema that declares ends of numbers and levels (YAML).")
]
AgreementFile = Annotated[
    Path, typer.Argument(help="What the holders agreed on (`dalenius models federate agree`).")
]
Own = Annotated[Path, typer.Argument(help="The holder's own file.")]
Messages = Annotated[list[Path], typer.Argument(help="One message of each holder.")]
Holders = Annotated[list[Path], typer.Argument(help="One file of each holder; or one to be dealt out.")]
Written = Annotated[Path, typer.Option("--output", "-o", help="File or folder to write.")]
Tree = Annotated[Path | None, typer.Option("--output", "-o", help="File or folder to write.")]
OwnSeed = Annotated[
    int | None, typer.Option("--seed", "-s", help="Seed: the same seed gives the same result.")
]
Depth = Annotated[
    int, typer.Option("--depth", help="Questions that a tree asks at most, one after another.", min=1)
]
Theta = Annotated[float, typer.Option("--theta", help="How much is changed at random: 0 nothing, below 1.")]
EndsEpsilon = Annotated[float, typer.Option("--epsilon", "-e", help="Privacy budget ε; of the message.")]
Ends = Annotated[
    list[Path] | None,
    typer.Option("--ends", help="Messages about ends of numbers that have no bounds, one of each holder."),
]
Contribution = Annotated[
    int | None,
    typer.Option("--contribution", help="Most records of one unit (column with the role entity).", min=1),
]
Smallest = Annotated[int, typer.Option("--smallest", help="People that a leaf rests on at least.", min=1)]
MayVote = Annotated[list[str] | None, typer.Option("--holder", help="Name of a holder, who votes once.")]
Holder = Annotated[str | None, typer.Option("--holder", help="Name of a holder, who votes once.")]
ProtectLabel = Annotated[bool, typer.Option("--protect-class", help="Change the class at random too.")]
VoteOption = Annotated[str, typer.Option("--vote", help="tree: one vote a tree; count: people in leaves.")]
Deal = Annotated[int | None, typer.Option("--deal", help="Deal one file out to so many holders.", min=2)]
Skew = Annotated[
    float | None, typer.Option("--skew", help="How unlike the holders are: small is unlike (Dirichlet's α).")
]
Message = Annotated[
    Path, typer.Argument(help="The holder's own message (`dalenius models federate client`).")
]
HowMany = Annotated[int, typer.Option("--holders", help="Holders that are waited for.", min=1)]
Address = Annotated[str, typer.Option("--address", help="Host and port of whoever serves.")]
Wait = Annotated[float, typer.Option("--wait", help="Seconds after which it is given up.")]
Authority = Annotated[
    Path | None,
    typer.Option("--authority", help="Certificate of the authority (PEM): needed beyond this computer."),
]
Certificate = Annotated[
    Path | None, typer.Option("--certificate", help="Certificate of whoever serves (PEM).")
]
CertificateKey = Annotated[
    Path | None, typer.Option("--certificate-key", help="Private key of that certificate (PEM).")
]


def read_json(path: Path) -> Any:
    """A JSON file; an error that names it where it is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from None
    except ValueError:
        raise DataError(f"{path} holds no JSON") from None


def read_agreement(path: Path) -> Agreement:
    """The agreement of a file."""
    return Agreement.from_json(read_json(path))


def write_json(data: Any, path: Path, *inputs: Path) -> None:
    """A JSON file that appears whole or not at all, and never in the place of a file that was read."""
    if path.resolve() in {given.resolve() for given in inputs}:
        raise OptionError(f"{path} is a file that is read; write to another one")
    with replacing(path) as temporary:
        Path(temporary).write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
