"""Style, script and chart library of the page. The library comes out of the vl-convert package, not off a network."""

from __future__ import annotations

from functools import cache

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse, Response

from dalenius.web.shell import PLACE, Shell

KINDS = {
    "app.css": "text/css",
    "charts.js": "text/javascript",
    "setup.js": "text/javascript",
    "result.js": "text/javascript",
    "progress.js": "text/javascript",
    "files.js": "text/javascript",
    "large.js": "text/javascript",
    "checking.js": "text/javascript",
}


def routes(shell: Shell) -> APIRouter:
    """Addresses of files that are the same for every run."""
    router = APIRouter()

    @router.get("/static/{name}")
    def static(name: str) -> Response:
        if name == "vega.js":
            return Response(_vega(), media_type="text/javascript")
        if name not in KINDS:
            return PlainTextResponse("not found", 404)
        text = (PLACE / name).read_text(encoding="utf-8")
        return Response(_specs() + text if name == "charts.js" else text, media_type=KINDS[name])

    return router


@cache
def _specs() -> str:
    from dalenius.report.charts import chart_specs  # noqa: PLC0415 (brings the library, which few pages need)

    return chart_specs()


@cache
def _vega() -> str:
    import vl_convert  # noqa: PLC0415 (half a second, needed by pages with charts only)

    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))
