"""Tables of a PostgreSQL server of our own on loopback; runs where its programs and the ADBC driver are."""

from __future__ import annotations

import glob
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.core.errors import FileError
from dalenius.data.files import read

dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
PROGRAMS = sorted(glob.glob("/usr/lib/postgresql/*/bin")) or [os.path.dirname(shutil.which("initdb") or "")]
if not PROGRAMS[-1]:
    pytest.skip("no PostgreSQL (Debian: postgresql)", allow_module_level=True)
pytestmark = pytest.mark.slow


def run(*line: str) -> None:
    """Run as a user who may start a server: root may not."""
    asked = ["runuser", "-u", "postgres", "--", *line] if os.geteuid() == 0 else list(line)
    subprocess.run(asked, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    folder = Path(tempfile.mkdtemp(prefix="dalenius-pg-"))
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
    word = folder / "word"
    word.write_text("hush-hush\n", encoding="utf-8")
    word.chmod(0o644)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    bin_, data = PROGRAMS[-1], str(folder / "data")
    run(f"{bin_}/initdb", "-D", data, "-A", "scram-sha-256", "-U", "ann", f"--pwfile={word}")
    options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={folder} -c fsync=off"
    run(f"{bin_}/pg_ctl", "-D", data, "-w", "-l", str(folder / "log"), "-o", options, "start")
    try:
        yield f"postgres://ann:hush-hush@127.0.0.1:{port}/postgres"
    finally:
        run(f"{bin_}/pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def told(server: str, *commands: str) -> None:
    with dbapi.connect(server.replace("postgres:", "postgresql:")) as base, base.cursor() as cursor:
        for command in commands:
            cursor.execute(command)
        base.commit()


@pytest.fixture(scope="module")
def people(server: str) -> str:
    told(
        server,
        "create schema census",
        'create table census."odd name" (sex text, age int, pay float8, day date, rate numeric(8, 2))',
        """insert into census."odd name" select case i % 3 when 0 then null else 'f' end, i % 90, i / 7.0,
        date '2020-01-01' + i % 30, nullif(i % 4, 0) / 4.0 from generate_series(1, 500) i""",
    )
    return f"{server}#census.odd name"


def test_a_table_is_read(people: str):
    table = read(people)
    frame = table.to_frame("polars")
    assert table.rows == 500
    assert frame["sex"].null_count() == 166
    assert frame["age"].sum() == sum(i % 90 for i in range(1, 501))
    assert frame["pay"].max() == pytest.approx(500 / 7)
    assert frame["rate"].drop_nulls().unique().sort().to_list() == [0.25, 0.5, 0.75]
    assert frame["day"].dtype == pl.Date
    assert str(frame["day"].min()) == "2020-01-01"


def test_commands_take_the_address_and_hide_the_password(people: str, tmp_path: Path):
    out = tmp_path / "out.csv"
    said = CliRunner().invoke(app, ["synth", people, "-m", "independent", "-o", str(out)])
    assert said.exit_code == 0, said.output
    assert len(out.read_text(encoding="utf-8").splitlines()) == 501
    assert "hush" not in said.output
    wrong = CliRunner().invoke(app, ["check", people.replace("hush-hush", "not-hush")])
    assert wrong.exit_code != 0
    assert "hush" not in wrong.output


def test_what_is_not_there_is_told(people: str, server: str):
    with pytest.raises(FileError, match="check the database, the table's name"):
        read(f"{server}#nobody")
    with pytest.raises(FileError, match="check the database"):
        read(f"{server}#x; drop table census.people")


def test_the_transaction_cannot_write(server: str, people: str):
    """A view whose function writes fails: the database is only read."""
    told(
        server,
        "create table seen (n int)",
        "create function peek() returns int language sql volatile as 'insert into seen values (1) returning n'",
        "create view peeking as select peek() as n",
    )
    with pytest.raises(FileError, match="cannot be read"):
        read(f"{server}#peeking")
    assert read(f"{server}#seen").rows == 0
