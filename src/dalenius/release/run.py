"""Carrying out a plan: every candidate is made and measured, in parallel, and nothing done is ever done again.

Each job (one candidate, one replicate) writes its data and its figures to a work folder, whole or not at all. A run
that was killed continues with the jobs that are not there yet; the results are the same bytes as without the kill.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

from dalenius.core.code import code_digest
from dalenius.core.errors import FileError
from dalenius.data.atomic import private_folder, write_text
from dalenius.data.lock import locked
from dalenius.release.jobs import do_job, file_digest, job_path, job_stage, source
from dalenius.release.outcome import Release, conclude
from dalenius.release.place import check_place
from dalenius.release.plan import Plan
from dalenius.release.strangers import check_strangers
from dalenius.release.tables_attack import attack_tables
from dalenius.synth import Candidate

Progress = Callable[[str, int, int], None]
Job = tuple[Candidate, int]
CODE = "code"
"""File of a work folder that says by what code its jobs were done."""


def run_plan(plan: Plan, workers: int | None = None, progress: Progress | None = None) -> Release:
    r"""Make and measure every candidate of a plan that has not been made yet, then choose.

    Examples
    --------
    >>> import tempfile
    >>> from dalenius.data import examples
    >>> from dalenius.release.plan import read_plan
    >>> folder = Path(tempfile.mkdtemp())
    >>> examples.survey(200).select("sex", "age", "health").write_csv(folder / "people.csv")
    >>> _ = (folder / "plan.yaml").write_text(
    ...     "input: people.csv\nscenarios: {a: {keys: [sex, age], targets: [health]}}\n"
    ...     "candidates: {independent: {}}\nmeasures: [replicated-uniques, two-way-utility]\n"
    ...     "policy: [repU <= 100 %]\n"
    ... )
    >>> run_plan(read_plan(folder / "plan.yaml"), workers=1).chosen.candidate.name
    'independent'
    """
    check_place(plan)
    work = work_folder(plan)
    jobs = [(c, r) for c in plan.candidates for r in range(plan.replicates)]
    with _alone(work):
        original, holdout = source(plan)
        if holdout is not None:
            check_strangers(original, holdout)
        _forget_other_code(work, jobs)
        _note_date(work)
        if plan.attack is not None:
            if progress is not None:
                progress("attacking the tables", 0, len(jobs))
            attack_tables(plan.attack, plan.seed, work)
        todo = [job for job in jobs if not job_path(work, *job).is_file()]
        done = len(jobs) - len(todo)
        if progress is not None:
            progress("found from before" if done else "started", done, len(jobs))
        count = min(workers or os.cpu_count() or 1, len(todo))
        for name in _finished(plan, work, todo, count):
            done += 1
            if progress is not None:
                progress(name, done, len(jobs))
    return conclude(plan, work)


def stages(plan: Plan) -> dict[str, list[str]]:
    """How far each candidate is, by name: one word for each time it is made."""
    work = work_folder(plan)
    return {
        c.name: [job_stage(job_path(work, c, replicate)) for replicate in range(plan.replicates)]
        for c in plan.candidates
    }


def work_folder(plan: Plan) -> Path:
    """Where a plan's jobs are kept: by plan and by input, so that a changed plan starts anew."""
    content = "".join(file_digest(path) for path in plan.sources.values())
    name = hashlib.sha256((plan.digest + content).encode()).hexdigest()[:16]
    return plan.output.parent / f".{plan.output.name}-work" / name


@contextmanager
def _alone(work: Path) -> Iterator[None]:
    """Hold the work folder: two runs of one plan at once would do everything twice. A killed run lets go."""
    try:
        private_folder(work.parent)  # made files are not released yet
        private_folder(work)
    except OSError as error:
        raise FileError(f"{work}: cannot write here ({error.strerror}); choose another output") from None
    with locked(work / "lock", busy="this plan is being run by another process; wait for it, or stop it"):
        yield


def note_code(work: Path) -> None:
    """Say that what stands in a work folder is this code's."""
    write_text(work / CODE, code_digest())


def _forget_other_code(work: Path, jobs: list[Job]) -> None:
    """Make and measure again what other code did before; what cannot be made twice is only measured again."""
    kept = work / CODE
    if kept.is_file() and kept.read_text(encoding="utf-8") == code_digest():
        return
    for candidate, replicate in jobs:
        figures = job_path(work, candidate, replicate)
        for path in figures.parent.glob(f"{figures.stem}.*") if candidate.repeatable else [figures]:
            if path.is_file():
                path.unlink()
    note_code(work)


def _note_date(work: Path) -> None:
    """Remember the day a run began: a run that continues tomorrow gives the same pack."""
    path = work / "date"
    if not path.is_file():
        fixed = os.environ.get("SOURCE_DATE_EPOCH")
        moment = dt.datetime.fromtimestamp(int(fixed), dt.UTC) if fixed else dt.datetime.now(dt.UTC)
        write_text(path, moment.date().isoformat())


def _finished(plan: Plan, work: Path, todo: list[Job], workers: int) -> Iterator[str]:
    if workers <= 1:
        for candidate, replicate in todo:
            yield do_job(plan, work, candidate, replicate)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        workers, mp_context=context, initializer=_end_with, initargs=(os.getpid(),)
    ) as pool:
        futures = [pool.submit(do_job, plan, work, *job) for job in todo]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _end_with(parent: int) -> None:
    """End a worker whose run was killed; otherwise it would wait for ever."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
