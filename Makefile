# Everything installs into .venv; the only needs are python3 (3.11 or later) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
export NO_MKDOCS_2_WARNING := 1

.NOTPARALLEL:
.PHONY: help demo test slow mutations check format bench docs wheel clean

help:
	@echo "make demo   example survey, every method, figures and a report"
	@echo "make test   all tests but the slow ones, in a few minutes"
	@echo "make slow   the slow tests: simulations, audits, browsers"
	@echo "make mutations  faults put in by hand, and whether tests notice (long)"
	@echo "make check  lint, format, types, import layers"
	@echo "make bench  benchmarks against peers (slow)"
	@echo "make docs   documentation site in site/"
	@echo "make wheel  wheel with compiled kernels, for this Python and system, in dist/"

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or later is needed")'
	$(PYTHON) -m venv $(VENV)

# Everything that is compiled, compiled while installing rather than at first use. The mark is named after the content of
# all that decides what comes out: times say nothing after a branch was changed or a change taken back.
SOURCES := src/dalenius/_compiled/signatures.txt pyproject.toml \
	$(sort $(shell grep -rl 'core.kernels import njit' src --include='*.py'))
KERNELS := src/dalenius/_compiled/.compiled-$(shell cat $(SOURCES) | sha256sum | cut -c1-16)
$(KERNELS): | $(BIN)/python
	@$(BIN)/python -m dalenius.core.compiling
	@rm -f $(dir $@).compiled*
	@touch $@

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(PIP) -e .
	@$(MAKE) --no-print-directory $(KERNELS)
	@touch $@

$(VENV)/.installed-test: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[test]'
	@$(MAKE) --no-print-directory $(KERNELS)
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m compileall -q src
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[dev]'
	@$(MAKE) --no-print-directory $(KERNELS)
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m compileall -q src
	@touch $@ $(VENV)/.installed $(VENV)/.installed-test

demo: $(VENV)/.installed $(KERNELS)
	$(BIN)/dalenius demo

# Two workers on two cores: each with one thread for linear algebra, or they wait for one another; and where they do wait,
# asleep. Each takes half of the files, and then of what is left, so that what a file shares is made once.
test slow: export OMP_NUM_THREADS := 1
test slow: export OPENBLAS_NUM_THREADS := 1
test slow: export OMP_WAIT_POLICY := passive
# A pool of threads that is woken for a hundred rows takes longer than they do; the slow tests run with it.
test: export POLARS_MAX_THREADS := 1
# What one worker or one program of a test has compiled the others need not compile again.
test slow mutations: export PYTHONDONTWRITEBYTECODE :=

test: $(VENV)/.installed-test $(KERNELS)
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

slow: $(VENV)/.installed-test $(KERNELS)
	$(BIN)/python -m pytest -n 2 --dist worksteal -m slow

mutations: $(VENV)/.installed-test $(KERNELS)
	$(BIN)/python -m tests.mutations.run

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/mkdocs build --strict --quiet --site-dir site

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.installed-dev $(KERNELS)
	@for file in bench/[a-z]*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

docs: $(VENV)/.installed-dev
	$(BIN)/mkdocs build --strict --site-dir site

wheel: $(VENV)/.installed-dev
	$(BIN)/python -m hatchling build -t wheel

clean:
	rm -f src/dalenius/_compiled/*.nb? src/dalenius/_compiled/.compiled*
	rm -rf $(VENV) site dalenius-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
