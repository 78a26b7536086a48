# make demo and make test work on a bare checkout with Python 3.11 or later.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
STAMP := .venv/installed
ONE_THREAD := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: demo test test-all mutants bench lint clean

demo: $(STAMP)
	@$(BIN)/headsmith demo

test: $(STAMP)
	@$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist loadgroup

test-all: $(STAMP)
	@$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist loadgroup -m "slow or not slow" --timeout 600

mutants: $(STAMP)
	@$(BIN)/python -m tests.mutants

bench: $(STAMP)
	@$(ONE_THREAD) $(BIN)/python -m benchmarks

lint: $(STAMP)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

clean:
	rm -rf .venv out build dist .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "headsmith needs Python 3.11 or later (python3 was not found)"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "headsmith needs Python 3.11 or later")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@
