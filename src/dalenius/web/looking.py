"""Looking closer: one candidate, several side by side, and the table of two columns."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from dalenius.core.errors import DaleniusError
from dalenius.release import Release
from dalenius.web.compare_view import compare_facts, pair_facts
from dalenius.web.result_view import outcome
from dalenius.web.shell import Shell

MOST_SIDES = 3


def routes(shell: Shell) -> APIRouter:
    """Addresses of comparisons."""
    router = APIRouter()

    @router.get("/run/{name}/candidates")
    def candidates(name: str, request: Request, s: int = 0) -> Response:
        run = shell.run(name)
        release = outcome(run)
        numbers = _numbers(release, request)
        facts = compare_facts(release, numbers, s)
        return shell.page("compare", title=run.facts["title"], run=run, step=4, numbers=numbers, **facts)

    @router.get("/run/{name}/pair")
    def pair(name: str, request: Request, a: int = 0, b: int = 1) -> Response:
        run = shell.run(name)
        release = outcome(run)
        numbers = _numbers(release, request)
        facts = pair_facts(release, numbers, a, b)
        return shell.page("pair", title=run.facts["title"], run=run, step=4, numbers=numbers, **facts)

    return router


def _numbers(release: Release, request: Request) -> list[int]:
    known = {str(n): n for n in range(len(release.judged))}
    numbers = [known[c] for c in request.query_params.getlist("c") if c in known]
    if not numbers:
        raise DaleniusError("mark at least one file to look at")
    return list(dict.fromkeys(numbers))[:MOST_SIDES]
