# Everything starts from nothing but Python 3.11, git and make. `make help` lists the commands.

PYTHON ?= python3.11
VENV ?= .venv
BIN := $(VENV)/bin
RUNS ?= runs
SEED ?= 0

.DEFAULT_GOAL := help
.PHONY: help install demo test test-slow check golden bench doctor clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk 'BEGIN {FS = ":.*## "} {printf "  make %-10s %s\n", $$1, $$2}'

# The stamp is made anew when a dependency changes; torch first, so that nothing else can choose a CUDA build.
$(VENV)/.installed: pyproject.toml requirements-cpu.txt
	@command -v $(PYTHON) >/dev/null || { echo "error: $(PYTHON) not found; install Python 3.11 or set PYTHON=..."; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -r requirements-cpu.txt
	$(BIN)/python -m pip install --quiet -e '.[dev]' -c requirements-cpu.txt
	@touch $@

install: $(VENV)/.installed ## create .venv and install everything, torch as a CPU build

demo: $(VENV)/.installed ## build the tiny model, train uniform, then difffilter, print what was gained
	@$(BIN)/python -m dataflex_rl.demo runs_dir=$(RUNS) seed=$(SEED)

test: $(VENV)/.installed ## install what is missing and run the tests (not the slow ones)
	$(BIN)/python -m pytest -n auto --maxprocesses=4 --dist loadfile --no-loadscope-reorder

test-slow: $(VENV)/.installed ## the long runs
	$(BIN)/python -m pytest -m slow

check: $(VENV)/.installed ## ruff, format, mypy, documents against the disk
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python scripts/check_docs.py

golden: $(VENV)/.installed ## rewrite tests/golden from ten steps per method, printing the differences
	$(BIN)/python scripts/regolden.py

bench: $(VENV)/.installed ## policies, decoding and whole runs on the CPU host: times, memory, ratios
	$(BIN)/python scripts/bench.py
	$(BIN)/python scripts/bench_decoding.py
	$(BIN)/python scripts/bench_host.py

doctor: $(VENV)/.installed ## can training start on this machine?
	$(BIN)/dataflex-rl doctor

clean: ## remove the virtual environment and caches, not the runs
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
