"""The page refuses strangers, swelling files and tricks in names; it neutralises HTML and stays in its folder."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

fastapi = pytest.importorskip("fastapi", reason="the web extra is not installed")
pytest.importorskip("httpx2", reason="the test client needs httpx2")

from starlette.testclient import TestClient  # noqa: E402

from dalenius.web.server import make_app  # noqa: E402

BASE = "http://127.0.0.1:8123"
SAME = {"origin": BASE, "sec-fetch-site": "same-origin"}
PEOPLE = b"sex,age,ill\n" + b"".join(
    b"%s,%d,%s\n" % (b"fm"[i % 2 : i % 2 + 1], 20 + i % 50, b"yes" if i % 3 else b"no") for i in range(300)
)


@pytest.fixture
def client(tmp_path):
    made = TestClient(
        make_app(tmp_path / "space", "secret", 8123, limit_mb=1), base_url=BASE, follow_redirects=False
    )
    answer = made.get("/enter?token=secret")
    assert answer.status_code == 303
    return made


def files_outside(tmp_path):
    return sorted(str(p) for p in tmp_path.rglob("*") if "space" not in p.parts)


def send(client, name: str, content: bytes, **headers: str):
    return client.post("/open", files={"file": (name, content)}, headers={**SAME, **headers})


def test_a_fault_of_a_file_names_it_as_it_was_sent(client):
    answer = send(client, "stays of 2024.csv", b"sex,age,sex\nf,1,m\nm,2,f\n,,\n")
    again = send(client, "wide.csv", b"sex,,age\nf,1,2\nm,2,3\n")
    for told, name in ((answer, "stays of 2024.csv"), (again, "wide.csv")):
        assert told.status_code == 400
        assert name in told.text
        assert "data.csv" not in told.text


def test_nothing_without_the_token(tmp_path):
    stranger = TestClient(make_app(tmp_path / "space", "secret", 8123), base_url=BASE, follow_redirects=False)
    for path in (
        "/",
        "/static/app.js",
        "/run/000000000000",
        "/run/000000000000/public.zip",
        "/run/000000000000/internal.zip",
    ):
        assert stranger.get(path).status_code == 401
    assert stranger.post("/example", headers=SAME).status_code == 401
    assert stranger.get("/enter?token=guess").status_code == 401
    assert stranger.get("/enter?token=").status_code == 401
    assert stranger.get("/enter").status_code == 401


def test_the_token_works_once(client):
    other = TestClient(client.app, base_url=BASE, follow_redirects=False)
    assert other.get("/enter?token=secret").status_code == 401
    assert client.get("/").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site", "origin": BASE},
        {"sec-fetch-site": "same-site"},
        {},
    ],
)
def test_posts_from_elsewhere_are_refused(client, headers):
    assert client.post("/example", headers=headers).status_code == 403


def test_pages_of_others_cannot_read(client):
    assert client.get("/", headers={"origin": "http://evil.example"}).status_code == 403
    assert client.get("/", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert client.get("/", headers={"host": "evil.example:8123"}).status_code == 403
    answer = client.get("/")
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "name",
    [
        "../../evil.csv",
        "/etc/passwd.csv",
        "..\\..\\evil.csv",
        "a/../../b.csv",
        "x\x00.csv",
        "....//evil.csv",
        "évil ☃.csv",
    ],
)
def test_tricks_in_file_names_write_nothing_outside(client, tmp_path, name):
    before = files_outside(tmp_path)
    answer = send(client, name, PEOPLE)
    assert answer.status_code in (303, 400)
    assert files_outside(tmp_path) == before
    held = {p.name for p in (tmp_path / "space").rglob("*") if p.is_file()}
    assert held <= {"data.csv", "schema.yaml", "run.json"}


@pytest.mark.parametrize(
    "path",
    [
        "/run/%2e%2e%2fx",
        "/run/..%2f..%2fetc/plan.yaml",
        "/run/../../etc/passwd",
        "/static/..%2fserver.py",
        "/static/../server.py",
        "/run/zzzzzzzzzzzz",
        "/run/000000000000/report.html",
    ],
)
def test_tricks_in_addresses_read_nothing(client, path):
    answer = client.get(path)
    assert answer.status_code in (400, 404)
    assert "root:" not in answer.text
    assert "def " not in answer.text


def test_announced_two_gigabytes_are_refused_unread(client):
    answer = client.post(
        "/open",
        headers={**SAME, "content-length": str(2 << 30), "content-type": "multipart/form-data; boundary=x"},
        content=b"",
    )
    assert answer.status_code == 413


@pytest.mark.parametrize("halves", [3, 5])
def test_more_than_announced_is_refused(client, tmp_path, halves):
    def endless():
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
        for _ in range(halves):  # of a megabyte, which is the limit
            yield b"1,2\n" * (1 << 17)
        yield b"\r\n--x--\r\n"

    answer = client.post(
        "/open", headers={**SAME, "content-type": "multipart/form-data; boundary=x"}, content=endless()
    )
    assert answer.status_code == 413
    assert not list((tmp_path / "space" / "runs").iterdir())


def workbook_bomb() -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * (200 << 20))
    return held.getvalue()


def parquet(**columns) -> bytes:
    held = io.BytesIO()
    pq.write_table(pa.table(columns), held, compression="zstd")
    return held.getvalue()


def many_rows() -> bytes:
    """Sixteen megabytes of zeros in a few hundred bytes."""
    return parquet(n=pa.array(np.zeros(2_000_000, np.int64)))


def one_long_text() -> bytes:
    """One text of 200 kB that a dictionary names 20,000 times: four gigabytes once written out."""
    codes = pa.array(np.zeros(20_000, np.int32))
    return parquet(
        t=pa.DictionaryArray.from_arrays(codes, pa.array(["x" * 200_000])).cast(
            pa.dictionary(pa.int32(), pa.string())
        )
    )


def huge_promise() -> bytes:
    """A file whose footer promises 2^40 rows in a row group."""
    honest = parquet(n=pa.array([1, 2, 3]))
    size = struct.unpack("<I", honest[-8:-4])[0]
    footer = honest[-8 - size : -8]
    rows = footer.replace(b"\x16\x06", b"\x16" + zigzag(1 << 40))  # thrift: a 64-bit field that holds 3
    assert rows != footer
    return honest[: -8 - size] + rows + struct.pack("<I", len(rows)) + b"PAR1"


def zigzag(number: int) -> bytes:
    value, out = number << 1, b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("rows.parquet", many_rows(), "larger than it is"),
        ("text.parquet", one_long_text(), "larger than it is"),
        ("promise.parquet", huge_promise(), "larger than it is"),
        ("wide.csv", b",".join(b"c%d" % i for i in range(5000)) + b"\n1\n", "columns"),
        ("long.csv", b"a,b\n" + b"x" * 1_020_000 + b",1\n", "longer"),
        ("bomb.xlsx", workbook_bomb, "larger than it is"),
        ("empty.csv", b"", ""),
        ("none.exe", b"MZ", "reads"),
        ("noise.parquet", b"PAR1 nonsense", "Parquet"),
        ("quotes.csv", b'a,b\n"' + b"\n" * 5000, ""),
    ],
)
def test_bombs_and_rubbish_are_refused(client, tmp_path, name, content, said):
    answer = send(client, name, content() if callable(content) else content)
    assert answer.status_code == 400, answer.text
    assert said in answer.text
    assert not list((tmp_path / "space" / "runs").iterdir())


def test_html_in_names_and_values_is_shown_as_text(client):
    rows = "".join(f"{'<img src=x onerror=alert(1)>' if i % 2 else 'b'},{i % 7}\n" for i in range(100))
    answer = send(
        client, "<script>alert(3)<x>.csv", ('<script>alert(1)</script>,"</select><b>"\n' + rows).encode()
    )
    assert answer.status_code == 303
    for page in (client.get(answer.headers["location"]).text, client.get("/").text):
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "</select><b>" not in page


def test_bad_settings_are_told(client):
    where = send(client, "people.csv", PEOPLE).headers["location"]
    answer = client.post(f"{where}/start", data={"method": "cart"}, headers=SAME)
    assert answer.status_code == 400
    assert "key" in answer.text
    roles = {"role-0": "key", "role-1": "key", "role-2": "target"}
    assert "method" in client.post(f"{where}/start", data={**roles, "method": "no"}, headers=SAME).text
    odd = client.post(
        f"{where}/start", data={**roles, "method": "cart", "further": "__import__('os')"}, headers=SAME
    )
    assert odd.status_code == 400


def test_a_restart_finds_runs_again(client, tmp_path):
    where = send(client, "people.csv", PEOPLE).headers["location"]
    again = TestClient(make_app(tmp_path / "space", "other", 8123), base_url=BASE, follow_redirects=False)
    again.get("/enter?token=other")
    assert where in again.get("/").text
    assert again.get(where).status_code == 200
    assert again.post(f"{where}/delete", headers=SAME).status_code == 303
    assert where not in again.get("/").text
    assert not list((tmp_path / "space" / "runs").iterdir())


def test_again_keeps_the_first_run_and_its_choices(client, tmp_path):
    where = send(client, "people.csv", PEOPLE).headers["location"]
    other = client.post(f"{where}/again", headers=SAME).headers["location"]
    assert where not in other
    client.post(f"{where}/delete", headers=SAME)
    assert client.get(other).status_code == 200, "the data of the second run are its own"


def test_the_cost_can_be_asked_without_touching_the_run(client, tmp_path):
    where = send(client, "people.csv", PEOPLE).headers["location"]
    roles = {"role-0": "key", "role-1": "key", "role-2": "target"}
    answer = client.post(f"{where}/forecast", data={**roles, "method": "independent"}, headers=SAME)
    assert "of computing" in answer.json()["said"]
    assert not list((tmp_path / "space").rglob("plan.yaml"))
    assert "cannot be run yet" in client.post(f"{where}/forecast", data={}, headers=SAME).json()["said"]


def test_a_run_of_an_earlier_start_is_seen_and_can_be_stopped(tmp_path):
    """The process is known by its number and its words: a number that is now another's is never touched."""
    from dalenius.web.workspace import RUNNER, Run, note_state

    folder = tmp_path / "0123456789ab"
    folder.mkdir()
    waiting = "import time; time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", waiting, RUNNER, str(folder)]) as process:
        note_state(folder, state="running", pid=process.pid)
        assert Run(folder).state["state"] == "running"
        Run(folder).cancel()
        assert process.wait(10) is not None
    assert Run(folder).state["state"] == "stopped"
    with subprocess.Popen([sys.executable, "-c", waiting]) as stranger:
        note_state(folder, state="running", pid=stranger.pid)
        assert Run(folder).state["state"] == "stopped"
        Run(folder).cancel()
        assert stranger.poll() is None
        stranger.kill()


def test_odd_bytes_are_told_not_crashed_on(client, tmp_path):
    stranger = TestClient(client.app, base_url=BASE, follow_redirects=False, raise_server_exceptions=False)
    assert stranger.get("/", headers={b"cookie": b"dalenius=\xe9\xff"}).status_code == 401
    assert stranger.get("/", headers={b"content-length": b"\xb2"}).status_code == 401
    where = finished_run(client, tmp_path)
    careful = TestClient(client.app, base_url=BASE, cookies=client.cookies, raise_server_exceptions=False)
    for asked in ("²", "-1", "9" * 5000, "١", "1e3", ""):
        assert careful.get(f"{where}/candidates", params={"c": asked}).status_code == 400, asked
    assert careful.get(f"{where}/candidates", params={"c": "0"}).status_code == 200


def test_what_may_leave_and_what_stays_are_two_downloads(client, tmp_path):
    from dalenius.release import verify_pack

    where = finished_run(client, tmp_path)
    assert client.get(f"{where}/pack.zip").status_code in (400, 404)
    held = {}
    for part in ("public", "internal"):
        with zipfile.ZipFile(io.BytesIO(client.get(f"{where}/{part}.zip").content)) as archive:
            held[part] = archive.namelist()
            archive.extractall(tmp_path / "got")
    assert all(name.startswith("release/public/") for name in held["public"])
    assert not any("/public/" in name for name in held["internal"])
    assert "release/manifest.json" in held["internal"]
    assert verify_pack(tmp_path / "got" / "release").accepted, "together they are the pack"


def test_the_page_asks_what_would_be_released_while_nothing_is(client, tmp_path):
    page = client.get(finished_run(client, tmp_path)).text
    assert "What would be released?" in page
    assert "What was released?" not in page


def test_nobody_else_may_look_into_the_workspace(client, tmp_path):
    finished_run(client, tmp_path)
    paths = [tmp_path / "space", *(tmp_path / "space").rglob("*")]
    assert len(paths) > 20
    open_to_others = [p for p in paths if p.stat().st_mode & 0o077]
    assert open_to_others == []


def finished_run(client, tmp_path) -> str:
    """A run carried out in this process; its address."""
    from dalenius.web.runner import carry_out

    where = send(client, "people.csv", PEOPLE).headers["location"]
    roles = {"role-0": "key", "role-1": "key", "role-2": "target"}
    form = {**roles, "method": "independent", "holdout": "20", "further": "repU <= 100 %"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dalenius.web.workspace.Run.start", lambda run: None)
        assert client.post(f"{where}/start", data=form, headers=SAME).status_code == 303
    carry_out(tmp_path / "space" / "runs" / where.split("/")[-1])
    return where


def test_the_cookie_is_for_this_page_and_no_script(tmp_path):
    made = TestClient(make_app(tmp_path / "space", "secret", 8123), base_url=BASE, follow_redirects=False)
    flags = [part.strip() for part in made.get("/enter?token=secret").headers["set-cookie"].split(";")[1:]]
    assert flags == ["HttpOnly", "SameSite=Strict", "Path=/"]
