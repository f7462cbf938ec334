"""Addresses of the page. Everything is rendered here; the browser gets finished HTML and a little script."""

from __future__ import annotations

import io
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response

from dalenius.core.errors import DaleniusError
from dalenius.data import examples
from dalenius.data.atomic import write_text
from dalenius.release.policy import Rule
from dalenius.release.template import POLICY, template
from dalenius.synth import SYNTHESIZERS
from dalenius.web import views
from dalenius.web.guard import Guard, TooLargeError
from dalenius.web.intake import inspect
from dalenius.web.workspace import ENDINGS, Run, Workspace

PLACE = Path(__file__).parent / "templates"
EXAMPLE = (
    "region", "sex", "age", "marital", "education", "income", "health", "smoker", "diagnosis", "life_satisfaction",
)  # fmt: skip
MEGABYTE = 1 << 20


def make_app(workspace: Path, token: str, port: int, limit_mb: int = 500) -> Any:  # noqa: PLR0915 (one address each)
    """The guarded application for one workspace."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    place = Workspace(workspace)
    limit = limit_mb * MEGABYTE

    def page(name: str, status: int = 200, **facts: Any) -> Any:
        return HTMLResponse(_environment().get_template(name).render(**facts), status_code=status)

    def known(name: str) -> Run:
        run = place.run(name)
        if run is None:
            raise DaleniusError("there is no such run")
        return run

    async def told(request: Request, error: Exception) -> Any:
        status = 413 if isinstance(error, TooLargeError) else (404 if "no such run" in str(error) else 400)
        text = "the file is larger than the page accepts" if isinstance(error, TooLargeError) else str(error)
        return page("error.html.j2", status, title="That did not work", text=text)

    app.add_exception_handler(DaleniusError, told)
    app.add_exception_handler(TooLargeError, told)

    @app.get("/")
    def start() -> Any:
        return page(
            "start.html.j2",
            title="Runs",
            runs=[{"run": r, "state": r.state, "facts": r.facts} for r in place.runs()],
            limit=limit_mb,
        )

    @app.get("/static/{name}")
    def static(name: str) -> Any:
        if name == "vega.js":
            return Response(_vega(), media_type="text/javascript")
        kinds = {"app.css": "text/css", "app.js": "text/javascript"}
        if name not in kinds:
            return PlainTextResponse("not found", 404)
        return Response((PLACE / name).read_text(encoding="utf-8"), media_type=kinds[name])

    @app.post("/example")
    def example() -> Any:
        with tempfile.TemporaryDirectory(dir=place.folder) as folder:
            path = Path(folder) / "example.csv"
            examples.survey(1000, seed=1).select(EXAMPLE).write_csv(path)
            run = place.open(path, "Example survey (people who do not exist)")
        return RedirectResponse(f"/run/{run.name}", 303)

    @app.post("/open")
    async def upload(request: Request) -> Any:
        async with request.form(max_files=1, max_fields=4) as form:
            run = await _received(place, form.get("file"), limit)
        return RedirectResponse(f"/run/{run.name}", 303)

    @app.get("/run/{name}")
    def show(name: str) -> Any:
        run = known(name)
        state = run.state
        if state["state"] in ("done", "refused"):
            return page(
                "result.html.j2",
                title=run.facts["title"],
                run=run,
                state=state,
                **views.result(views.outcome(run)),
            )
        if state["state"] == "running":
            return page("progress.html.j2", title=run.facts["title"], run=run, state=state)
        return _setup(run, state)

    @app.get("/run/{name}/setup")
    def again(name: str) -> Any:
        return _setup(known(name), {"state": "new"})

    def _setup(run: Run, state: dict[str, Any]) -> Any:
        return page(
            "setup.html.j2", title=run.facts["title"], run=run, state=state, kinds=views.KINDS, roles=views.ROLES,
            policy="\n".join(POLICY), **views.setup(run),
        )  # fmt: skip

    @app.post("/run/{name}/start")
    async def begin(name: str, request: Request) -> Any:
        run = known(name)
        async with request.form(max_files=0, max_fields=10_000) as form:
            if not form.get("again"):
                _write_plan(run, form)
        run.start()
        return RedirectResponse(f"/run/{run.name}", 303)

    @app.post("/run/{name}/cancel")
    def cancel(name: str) -> Any:
        run = known(name)
        run.cancel()
        return RedirectResponse(f"/run/{run.name}", 303)

    @app.get("/run/{name}/state")
    def state(name: str) -> Any:
        found = known(name).state
        return JSONResponse({k: v for k, v in found.items() if k != "pid"})

    @app.get("/run/{name}/candidates")
    def candidates(name: str, request: Request) -> Any:
        release = views.outcome(known(name))
        asked = request.query_params.getlist("c")
        numbers = [int(c) for c in asked if c.isdigit() and int(c) < len(release.judged)][:3]
        if not numbers:
            raise DaleniusError("choose at least one candidate")
        return page(
            "drill.html.j2",
            title=known(name).facts["title"],
            run=known(name),
            **views.drill(release, numbers),
        )

    @app.get("/run/{name}/pack.zip")
    def pack(name: str) -> Any:
        run = known(name)
        if not (run.pack / "manifest.json").is_file():
            raise DaleniusError("this run has no pack")
        return _download(Response, _zipped(run.pack), "application/zip", "release-pack.zip")

    @app.get("/run/{name}/plan.yaml")
    def plan(name: str) -> Any:
        run = known(name)
        if not run.plan.is_file():
            raise DaleniusError("this run has no plan yet")
        return _download(Response, run.plan.read_bytes(), "application/yaml", "plan.yaml")

    @app.get("/run/{name}/report.html")
    def report(name: str) -> Any:
        path = known(name).pack / "internal" / "report.html"
        if not path.is_file():
            raise DaleniusError("this run has no report")
        return _download(Response, path.read_bytes(), "text/html", "report.html")

    return Guard(app, token, port, limit)


async def _received(place: Workspace, sent: Any, limit: int) -> Run:
    """A file that was sent, looked at before it is read, as a new run; its name is only ever shown."""
    if sent is None or isinstance(sent, str) or not sent.filename:
        raise DaleniusError("choose a file first")
    shown = Path(sent.filename.replace("\\", "/").replace("\x00", "")).name
    with tempfile.TemporaryDirectory(dir=place.folder) as folder:
        ending = Path(shown).suffix.lower()
        path = Path(folder) / (f"data{ending}" if ending in ENDINGS else "data")
        with path.open("wb") as stream:
            while block := await sent.read(MEGABYTE):
                stream.write(block)
        inspect(path, limit)
        return place.open(path, shown)


def _write_plan(run: Run, form: Any) -> None:
    """Schema and plan from what a person chose on the page."""
    schema = run.schema
    kinds = {c.name: str(form.get(f"kind-{n}", "")) for n, c in enumerate(schema)}
    roles = {c.name: str(form.get(f"role-{n}", "")) for n, c in enumerate(schema)}
    keys, targets = ([n for n, r in roles.items() if r == wanted] for wanted in ("key", "target"))
    if not keys or not targets:
        raise DaleniusError(
            "mark at least one column as known to outsiders (key) and one as sensitive (target)"
        )
    methods = [m for m in form.getlist("method") if m in SYNTHESIZERS]
    if not methods:
        raise DaleniusError("choose at least one method")
    policy = [line.strip() for line in str(form.get("policy", "")).splitlines() if line.strip()]
    for line in policy:
        Rule.parse(line)
    views.corrected(schema, kinds, roles).to_yaml(run.folder / "schema.yaml")
    text = template(
        Path(run.data.name), run.table(), Path("schema.yaml"), methods=methods, title=run.facts["title"],
        keys=keys, targets=targets, policy=policy, replicates=1,
    )  # fmt: skip
    write_text(run.plan, text)


def _download(kind: Any, content: bytes, media: str, name: str) -> Any:
    return kind(content, media_type=media, headers={"content-disposition": f'attachment; filename="{name}"'})


def _zipped(folder: Path) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            archive.write(path, str(path.relative_to(folder.parent)))
    return held.getvalue()


@cache
def _vega() -> str:
    import vl_convert  # noqa: PLC0415 (half a second, needed by pages with charts only)

    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))


@cache
def _environment() -> Any:
    import jinja2  # noqa: PLC0415

    loader = jinja2.FileSystemLoader(PLACE)
    made = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    return made
