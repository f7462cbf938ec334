"""Codes, rules, computed columns and hierarchies on the set-up page; made-up rows; from a file to a verified pack."""

from __future__ import annotations

import re
import zipfile

import polars as pl
import pytest

pytest.importorskip("fastapi", reason="the web extra is not installed")

from starlette.testclient import TestClient

from dalenius.core.errors import OptionError
from dalenius.core.kernels import COMPILING
from dalenius.data.schema import Schema
from dalenius.release import read_plan
from dalenius.web.choices import Choices
from dalenius.web.server import make_app
from dalenius.web.structure_form import StructureForm
from tests.first_hour.conftest import survey
from tests.web.test_page import host_of, served

BASE = "http://127.0.0.1:8123"
SAME = {"origin": BASE, "sec-fetch-site": "same-origin"}


def hospital(rows: int = 400) -> pl.DataFrame:
    """A file with a code for no answer, dates in an order, a sum, and towns in two regions."""
    frame = survey(rows).select("sex", "age", "smoke", "income")
    number = pl.int_range(pl.len())
    return frame.with_columns(
        age=pl.when(number % 17 == 0).then(999).otherwise("age"),
        town=pl.lit(pl.Series([["Oslo", "Bergen", "Malmo", "Lund"][i % 4] for i in range(rows)])),
        net=(number * 37 % 900 + 100), tax=(number * 11 % 90 + 10),
    ).with_columns(gross=pl.col("net") + pl.col("tax"))  # fmt: skip


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    client = TestClient(make_app(folder / "space", "secret", 8123), base_url=BASE)
    client.get("/enter?token=secret")
    body = hospital().write_csv().encode()
    page = client.post("/open", files={"file": ("stays.csv", body)}, headers=SAME)
    assert page.status_code == 200
    return client, page, next((folder / "space" / "runs").iterdir())


def sent(page) -> dict[str, object]:
    """The fields of the set-up page as they stand."""
    fields: dict[str, object] = {}
    for name, options in re.findall(r'<select[^>]*name="([^"]+)"[^>]*>(.*?)</select>', page.text, re.S):
        fields[name] = re.search(r'value="([^"]*)"[^>]*selected', options)[1] if "selected" in options else ""
    for tag in re.findall(
        r"<input[^>]*>", page.text.split("<template")[0] + page.text.split("</template>")[1]
    ):
        name, value = re.search(r'name="([^"]+)"', tag), re.search(r'value="([^"]*)"', tag)
        if name and ("checkbox" not in tag or "checked" in tag):
            held = fields.setdefault(name[1], []) if "checkbox" in tag else None
            if held is None:
                fields[name[1]] = value[1] if value else ""
            else:
                held.append(value[1] if value else "on")
    return fields


def test_codes_rules_and_computed_columns_reach_the_schema(opened):
    client, page, folder = opened
    place = f"/run/{folder.name}"
    assert "gross = net + tax" in page.text  # found, and kept by construction
    fields = sent(page) | {"missing-1": "999", "x-derived": "gross = net + tax", "x-rules": "age >= 16"}
    seen = client.post(f"{place}/preview", data=fields, headers=SAME).json()
    assert seen["columns"] == hospital().columns
    rows = [dict(zip(seen["columns"], row, strict=True)) for row in seen["rows"]]
    assert len(rows) == 10
    assert all(int(r["gross"]) == int(r["net"]) + int(r["tax"]) for r in rows)
    assert ["age >= 16", True] in seen["rules"]
    real = {tuple(map(str, row)) for row in hospital().rows()}
    assert not real & {tuple(row) for row in seen["rows"]}
    client.post(f"{place}/forecast", data=fields, headers=SAME)
    plan = read_plan(folder / "trial-plan.yaml")
    schema = Schema.from_yaml(plan.schema)
    assert schema["age"].missing == (999,)
    assert schema.rules == ("age >= 16", "gross == net + tax")


def test_every_fault_is_told_and_nothing_is_lost(opened):
    client, page, folder = opened
    fields = sent(page) | {"x-rules": "age >=\nnobody > 3", "x-derived": "nothing = 3"}
    seen = client.post(f"/run/{folder.name}/preview", data=fields, headers=SAME).json()
    assert "3 faults" in seen["fault"]
    answer = client.post(f"/run/{folder.name}/start", data=fields, headers=SAME)
    assert answer.status_code == 400
    assert "nobody &gt; 3" in answer.text
    kept = StructureForm({"a": "9"}, {"b": "-8"}, "a < b", "c = a + b", [("t", "N: x, y")], False)
    assert Choices.from_dict(Choices({}, {}, [], [], structure=kept).to_dict()).structure == kept
    with pytest.raises(OptionError, match="computed column"):
        StructureForm(derived="b").applied(Schema.infer({"b": [1, 2, 3]}))


def test_a_table_is_protected_from_the_same_set_up(opened):
    client, page, folder = opened
    place = f"/run/{folder.name}"
    town = str(hospital().columns.index("town"))
    fields = sent(page) | {
        "missing-1": "999",
        "h-0-column": town,
        "h-0-lines": "North: Oslo, Bergen\nSouth: Malmo, Lund",
    }
    shown = client.post(f"{place}/tables", data=fields, headers=SAME)
    assert "Protect the table" in shown.text
    table = client.get(f"{place}/tables?by=town&by=sex")
    assert table.text.index("<h2>Audit</h2>") < table.text.index("<h2>Table</h2>")
    csv = client.get(f"{place}/table.csv?by=town&by=sex").text
    assert {line.split(",")[0] for line in csv.splitlines()[1:]} == {
        "Total", "North", "South", "Oslo", "Bergen", "Malmo", "Lund"
    }  # fmt: skip
    assert "North: Oslo, Bergen" in client.get(f"{place}/setup").text  # still there


def test_compiling_is_said_on_the_page(opened):
    client, _, folder = opened
    (folder / "log.txt").write_text(f"dalenius: {COMPILING} …\n")
    assert COMPILING in client.get(f"/run/{folder.name}/state").json()["note"]
    (folder / "log.txt").unlink()
    assert client.get(f"/run/{folder.name}/state").json()["note"] == ""


@pytest.mark.slow
def test_eight_clicks_from_a_file_to_a_verified_pack(tmp_path, browsing):
    path = tmp_path / "stays.csv"
    survey(1200).write_csv(path)
    faults: list[str] = []
    clicks = 0
    with served(tmp_path / "space") as address, browsing(host_of(address)) as seen:
        page = seen.page
        page.goto(address)

        def click(what: str) -> None:
            nonlocal clicks
            clicks += 1
            page.screenshot(path=tmp_path / f"screen-{clicks}.png", full_page=True)
            page.click(what)

        with page.expect_file_chooser() as asked:
            click('input[type="file"]')
        asked.value.set_files(path)
        click("#open")
        page.wait_for_selector("text=What are the columns?")
        click("#look")
        page.wait_for_selector("#made-up tbody tr")
        assert page.locator("#made-up tbody tr").count() == 10
        faults += seen.faults()
        assert seen.fits()
        click("#cost")
        page.wait_for_selector("#cost-said:has-text('computing')", timeout=120_000)
        click("#run")
        page.wait_for_selector("#verdict", timeout=300_000)
        seen.drawn()
        with page.expect_download() as caught:
            click("#public")
        caught.value.save_as(tmp_path / "public.zip")
        click("#verify")
        page.wait_for_selector("#verified:has-text('pack')", timeout=120_000)
        assert "whole and unchanged" in page.locator("#verified").inner_text()
        faults += seen.faults()
        page.screenshot(path=tmp_path / "screen-end.png", full_page=True)
    assert clicks <= 8
    assert faults == []
    assert seen.noise == []
    held = zipfile.ZipFile(tmp_path / "public.zip").namelist()
    assert any(name.endswith("report.html") for name in held)
