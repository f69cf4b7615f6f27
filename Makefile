# One word each; `make help` lists them. Nothing is needed but make and Python 3.11 or newer.

PYTHON ?= python3
VENV := .venv
BENCH_VENV := .venv-bench
INTEROP_VENV := .venv-interop
NODE_PEERS := tests/interop/node
SUITE := tests/conformance
LOCK_VENV := .venv-lock
UV_VERSION := 0.13.9
SCRIPTS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := $(VENV)/$(SCRIPTS)
INSTALL := -m pip install --quiet --disable-pip-version-check
# The build backend comes from the lock file as well, so nothing is fetched for it.
INSTALL_PROJECT := $(INSTALL) --no-deps --no-build-isolation --editable .

CHECK_PYTHON = $(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed; name it: make PYTHON=python3.13")'

.DEFAULT_GOAL := help
.PHONY: help setup check test demo bench interop conformance clean lock

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1: /p' Makefile

# A stamp is renewed when its lock file or the project's metadata changes.
$(VENV)/run.stamp: requirements/run.txt pyproject.toml
	@$(CHECK_PYTHON)
	@echo "setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python $(INSTALL) --require-hashes -r requirements/run.txt
	@$(BIN)/python $(INSTALL_PROJECT)
	@touch $@

$(VENV)/dev.stamp: requirements/dev.txt $(VENV)/run.stamp
	@echo "installing the tools for tests and checks"
	@$(BIN)/python $(INSTALL) --require-hashes -r requirements/dev.txt
	@touch $@

setup: $(VENV)/dev.stamp  ## make the virtual environment for everything below

check: setup  ## lint, format, types, import contracts
	$(BIN)/python -m ruff check --output-format concise .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m basedpyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports --no-logo

test: setup  ## every test, with complete branch coverage; ARGS go to pytest
	@$(BIN)/python -m tests --numprocesses=auto --maxprocesses=8 $(ARGS)

demo: $(VENV)/run.stamp  ## a server, a client and every method between them, on the files of FOLDER
	@$(BIN)/suaveplan-mcp demo $(FOLDER)

# The libraries that are compared with stay out of the project's own environment.
$(BENCH_VENV)/bench.stamp: requirements/bench.txt pyproject.toml
	@$(CHECK_PYTHON)
	@echo "setting up $(BENCH_VENV)"
	@$(PYTHON) -m venv $(BENCH_VENV)
	@$(BENCH_VENV)/$(SCRIPTS)/python $(INSTALL) --require-hashes -r requirements/bench.txt
	@$(BENCH_VENV)/$(SCRIPTS)/python $(INSTALL_PROJECT)
	@touch $@

bench: $(BENCH_VENV)/bench.stamp  ## what a call costs, side by side with other libraries; ARGS go to the benchmarks
	@$(BENCH_VENV)/$(SCRIPTS)/python -m benchmarks $(ARGS)

$(INTEROP_VENV)/interop.stamp: requirements/interop.txt pyproject.toml
	@$(CHECK_PYTHON)
	@echo "setting up $(INTEROP_VENV)"
	@$(PYTHON) -m venv $(INTEROP_VENV)
	@$(INTEROP_VENV)/$(SCRIPTS)/python $(INSTALL) --require-hashes -r requirements/interop.txt
	@$(INTEROP_VENV)/$(SCRIPTS)/python $(INSTALL_PROJECT)
	@touch $@

$(NODE_PEERS)/node_modules/interop.stamp: $(NODE_PEERS)/package.json $(NODE_PEERS)/package-lock.json
	@echo "installing the servers and clients from npm"
	@cd $(NODE_PEERS) && npm ci --loglevel error
	@touch $@

# Without Node the rest runs all the same, and the summary says so.
interop: $(INTEROP_VENV)/interop.stamp  ## our client and server with other people's; ARGS go to pytest
	@if command -v npm > /dev/null; then $(MAKE) --no-print-directory $(NODE_PEERS)/node_modules/interop.stamp; fi
	@$(INTEROP_VENV)/$(SCRIPTS)/python -m pytest tests/interop --numprocesses=auto --maxprocesses=8 $(ARGS)

$(SUITE)/node_modules/suite.stamp: $(SUITE)/package.json $(SUITE)/package-lock.json
	@command -v npm > /dev/null || { echo "make conformance needs npm"; exit 1; }
	@echo "installing the conformance suite"
	@cd $(SUITE) && npm ci --loglevel error
	@touch $@

conformance: setup $(SUITE)/node_modules/suite.stamp  ## the official suite against our example server and client; ARGS go to it
	@$(BIN)/python -m tests.conformance $(ARGS)

clean:  ## remove what the other targets made
	rm -rf $(VENV) $(BENCH_VENV) $(INTEROP_VENV) $(LOCK_VENV) $(NODE_PEERS)/node_modules $(SUITE)/node_modules .cache .hypothesis dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

COMPILE = $(LOCK_VENV)/$(SCRIPTS)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url \
	--python-version 3.11 --custom-compile-command "make lock" pyproject.toml

lock:  ## renew the lock files; UPGRADE=--upgrade takes newer releases
	@$(PYTHON) -m venv $(LOCK_VENV)
	@$(LOCK_VENV)/$(SCRIPTS)/python $(INSTALL) uv==$(UV_VERSION)
	$(COMPILE) requirements/dev.in --extra all -o requirements/dev.txt $(UPGRADE)
	$(COMPILE) requirements/run.in -c requirements/dev.txt -o requirements/run.txt $(UPGRADE)
	$(COMPILE) requirements/bench.in -o requirements/bench.txt $(UPGRADE)
	$(COMPILE) requirements/interop.in --extra http -c requirements/dev.txt -o requirements/interop.txt $(UPGRADE)
	cd $(NODE_PEERS) && npm $(if $(UPGRADE),update,install) --package-lock-only && node trim_lock.mjs
	cd $(SUITE) && npm install --package-lock-only && node ../interop/node/trim_lock.mjs
