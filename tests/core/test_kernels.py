"""Machine code that comes with the package: what is looked for where, when it is fresh, and what is said."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from dalenius.core import compiling, kernels

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "dalenius"
TOY = """
    from dalenius.core.kernels import njit
    from dalenius.toy_kernels.inner import add

    @njit(cache=True)
    def twice(x):
        return add(x, x)
"""
INNER = """
    from dalenius.core.kernels import njit

    @njit(cache=True)
    def add(x, y):
        return x + y
"""
CALL = """
import os, sys
from numba.core import event
class Heard(event.Listener):
    names = []
    def on_start(self, event): self.names.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event): pass
event.register("numba:compile", Heard())
from dalenius.toy_kernels.outer import twice
print(twice(21), *Heard.names)
"""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A copy of the core with two files of kernels, of which one calls the other."""
    package = tmp_path / "src" / "dalenius"
    shutil.copytree(SOURCE / "core", package / "core", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(SOURCE / "__init__.pyi", package)
    shutil.copy(SOURCE / "__init__.py", package)
    folder = package / "toy_kernels"
    folder.mkdir()
    (folder / "__init__.py").write_text("", encoding="utf-8")
    (folder / "outer.py").write_text(textwrap.dedent(TOY), encoding="utf-8")
    (folder / "inner.py").write_text(textwrap.dedent(INNER), encoding="utf-8")
    return tmp_path


def call(toy: Path, code: str = CALL, **environment: str) -> tuple[str, str]:
    """What a new process prints, and what it says on the error stream."""
    env = {**os.environ, "PYTHONPATH": str(toy / "src"), "NUMBA_CACHE_DIR": str(toy / "kept"), **environment}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


def test_what_was_compiled_is_not_compiled_again_even_from_another_folder(toy: Path):
    assert call(toy)[0] == "42 twice add"
    assert call(toy)[0] == "42"
    moved = toy / "elsewhere"
    shutil.move(toy / "src", moved / "src")
    env = {"PYTHONPATH": str(moved / "src")}
    assert call(toy, **env)[0] == "42"


def test_a_change_in_a_file_that_is_called_makes_the_caller_stale(toy: Path):
    call(toy)
    inner = toy / "src" / "dalenius" / "toy_kernels" / "inner.py"
    inner.write_text(inner.read_text(encoding="utf-8").replace("x + y", "x + y + 1"), encoding="utf-8")
    assert call(toy)[0] == "43 twice add"


def test_code_for_the_baseline_processor_is_used_from_a_folder_that_cannot_be_written(toy: Path):
    into = "from pathlib import Path; from dalenius.core import kernels\n"
    shipped = toy / "src" / "dalenius" / "_compiled"
    shipped.mkdir()
    call(
        toy,
        into + f"kernels.compile_into(Path({str(shipped)!r}))\n" + CALL,
        NUMBA_CPU_NAME=kernels.BASELINE,
        NUMBA_CPU_FEATURES="",
    )
    shutil.rmtree(toy / "kept", ignore_errors=True)
    nowhere = "/proc/none"  # even root cannot write there
    assert call(toy, NUMBA_CACHE_DIR=nowhere)[0] == "42"
    # a processor that cannot do what the baseline can compiles, and gives the same
    weak = into + "kernels.NEEDED[kernels.BASELINE] = {'a feature no processor has'}\n"
    assert call(toy, weak + CALL, NUMBA_CACHE_DIR=nowhere)[0] == "42 twice add"


@pytest.mark.slow
def test_another_numba_or_a_damaged_file_means_compiling(toy: Path):
    call(toy)
    other = "from numba.core import caching; caching.numba.__version__ = '0.1'\n"
    assert call(toy, other + CALL)[0] == "42 twice add"
    call(toy)
    for file in (toy / "kept" / "kernels").glob("*.nb?"):
        file.write_bytes(b"no machine code")
    assert call(toy)[0] == "42 twice add"


@pytest.mark.slow
def test_one_line_says_that_it_compiles(toy: Path):
    patient, impatient = call(toy)[1], None
    shutil.rmtree(toy / "kept")
    code = "from dalenius.core import kernels; kernels._state.patience = 1\n" + CALL
    impatient = call(toy, code)[1]
    assert "compil" not in patient
    assert impatient.count("dalenius: compiling for this machine") == 1
    assert call(toy, code)[1] == ""


def test_constants_do_not_multiply_kernels():
    add = kernels.njit(cache=False)(lambda x, y: x + y)
    both = kernels.njit(cache=False)(lambda x: add(x, 1) + add(x, 2))
    assert both(3) == 9
    assert [[str(kind) for kind in kinds] for kinds in add.overloads] == [["int64", "int64"]]


def test_every_line_of_the_list_is_a_kernel_and_is_spelled_as_numba_sees_it():
    listed = compiling.listed()
    assert len(listed) == len(set(listed))
    for name, kinds in listed:
        module = importlib.import_module(name.rpartition(".")[0])
        function = kernels.KERNELS[name]
        assert function.py_func.__module__ == module.__name__
        assert len(kinds) == function.py_func.__code__.co_argcount, name
        assert [compiling.spell(compiling.read(kind)) for kind in kinds] == list(kinds)


def test_all_kernels_are_kept_our_way():
    """Numba's own cache would not see that a function which is called has changed."""
    foreign = [
        path.name
        for path in SOURCE.rglob("*.py")
        if re.search(r"from numba import.*\bn?jit\b|numba\.n?jit\(", path.read_text(encoding="utf-8"))
        and path.name != "kernels.py"
    ]
    assert foreign == []


USE = """
import sys, warnings
from dalenius.core import compiling, kernels
import dalenius, contextlib, io
from dalenius import examples
survey = examples.survey(600, seed=1)
def use():
    cart = dalenius.synthesize(survey, "cart", seed=1)
    dalenius.synthesize(survey, "syndiffix", seed=1)
    dalenius.evaluate(survey, cart)
use()
print(*kernels.missed())
if len(sys.argv) > 1:
    for name, kinds in compiling.used():
        print(name.removeprefix("dalenius."), *kinds)
"""


@pytest.mark.slow
def test_nothing_is_compiled_that_the_list_does_not_have():
    """Needs what `make` compiles; the functions that were compiled nevertheless are named."""
    if not list(kernels.SHIPPED.glob("*.nbi")):
        pytest.skip("python -m dalenius.core.compiling has not been run")
    env = {**os.environ, "NUMBA_CACHE_DIR": "/proc/none"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", USE], capture_output=True, text=True, env=env, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
