# make run, make test: each does all of its own set-up. Written for GNU make 3.81 and later.

SHELL := /bin/sh
.NOTPARALLEL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

BIN := .venv/bin
PYTHON := $(BIN)/python
UV := .tools/bin/uv
PYTHONS := python3 python3.14 python3.13 python3.12 python3.11
WORKERS ?= 2
PYTEST := $(PYTHON) -m pytest
KILLS ?= 200

COMPILE := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-annotate --no-header
INSTALL := $(UV) pip install --quiet --python $(PYTHON)
PROJECT := $(INSTALL) --no-deps --no-build-isolation --editable .

.PHONY: help setup run test lint types walls unit contract flow crash browser system bench sizes soak lock fmt clean

help: ## this list
	@awk -F '##' '/^[a-z]+:.*##/ { split($$1, target, ":"); printf "%-10s%s\n", target[1], $$2 }' Makefile

# --- set-up: hidden stamps, so that the second time costs nothing

# Any interpreter of the right version that has pip will do; pip --target works where the system forbids other installs.
.tools/.made: locks/uv.txt
	@chosen=; seen=; \
	for name in $(PYTHONS); do \
	  "$$name" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' >/dev/null 2>&1 || continue; \
	  seen=$$name; \
	  "$$name" -m pip --version >/dev/null 2>&1 || continue; \
	  chosen=$$name; break; \
	done; \
	if [ -z "$$seen" ]; then \
	  echo "hermes-gateway needs Python 3.11, 3.12, 3.13 or 3.14: none of $(PYTHONS) is one. Install it and run make again." >&2; \
	  exit 1; \
	fi; \
	if [ -z "$$chosen" ]; then \
	  echo "$$seen has no pip, which fetches uv. Install it (Debian, Ubuntu: apt-get install python3-pip) and run make again." >&2; \
	  exit 1; \
	fi; \
	rm -rf .tools; \
	"$$chosen" -m pip install --quiet --disable-pip-version-check --root-user-action ignore \
	  --target .tools --require-hashes -r locks/uv.txt || exit 1; \
	"$$chosen" -c 'import sys; print(sys.executable)' >.tools/python
	@touch $@

# An interpreter that was taken off the system leaves an environment that has to be made anew.
ifneq ($(shell test -x $(PYTHON) && echo there),there)
.PHONY: .venv/.made
endif

.venv/.made: .tools/.made
	@$(UV) venv --quiet --clear --python "$$(cat .tools/python)" .venv
	@touch $@

.venv/.run: .venv/.made locks/run.txt pyproject.toml
	@$(INSTALL) --require-hashes -r locks/run.txt
	@$(PROJECT)
	@touch $@

.venv/.dev: .venv/.made locks/dev.txt pyproject.toml
	@$(INSTALL) --require-hashes -r locks/dev.txt
	@$(PROJECT)
	@touch .venv/.run $@

setup: .venv/.dev ## the virtual environment, with everything for development

run: .venv/.run ## the gateway, on http://127.0.0.1:8642/
	@$(BIN)/hermes-gateway run

# --- everything CI runs, in this order

test: lint types walls unit contract flow crash browser ## all of the checks below

lint: .venv/.dev ## style, spelling, YAML, Dockerfile, shell, compose file
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/codespell
	$(BIN)/yamllint --strict .
	$(BIN)/hadolint deploy/Dockerfile
	$(BIN)/shellcheck .ci/run
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec docker-compose.yml

types: .venv/.dev ## mypy, strict
	$(BIN)/mypy gateway adapters tests

walls: .venv/.dev ## who may import whom
	$(BIN)/lint-imports --no-logo

unit: .venv/.dev system ## one module at a time
	$(PYTEST) -n $(WORKERS) tests/unit tests/adapters tests/test_architecture.py

contract: .venv/.dev ## every implementation of every contract, on SQLite, Postgres and Redis
	$(PYTEST) -n $(WORKERS) tests/contract

flow: .venv/.dev ## from a message to its answer, against local platforms
	$(PYTEST) -n $(WORKERS) tests/flow

crash: .venv/.dev system ## processes killed at the worst moments
	$(PYTEST) --timeout 600 tests/crash

browser: .venv/.dev system ## the web chat in a real browser
	$(PYTEST) --timeout 180 tests/browser

system: .venv/.dev ## the programs the tests need from the system
	@$(PYTHON) -m tests.services 2>/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    export DEBIAN_FRONTEND=noninteractive; \
	    apt-get update -qq >/dev/null && \
	    apt-get install -y -qq --no-install-recommends chromium bubblewrap fonts-noto-cjk >/dev/null; \
	  fi; \
	  $(PYTHON) -m tests.services; \
	}

# --- the rest

bench: .venv/.dev ## one JSON line per measure
	@$(PYTHON) -m bench

sizes: .venv/.dev ## the longest files and functions
	@$(PYTHON) bench/sizes.py

soak: .venv/.dev system ## the crash tests for long: make soak KILLS=2000
	HERMES_CRASH_KILLS=$(KILLS) $(PYTEST) --timeout 0 tests/crash

# Without the extra mem0, whose 140 MB no test needs: tests/fakes/mem0_library stands in for it.
lock: .tools/.made ## resolve the locks anew
	$(COMPILE) --upgrade pyproject.toml --extra postgres --extra local --group build -o locks/run.txt
	$(COMPILE) --upgrade pyproject.toml --extra postgres --extra local --extra honcho --extra tokens \
	  --group build --group test --group lint --group release -c locks/run.txt -o locks/dev.txt
	$(COMPILE) locks/uv.in -o locks/uv.txt
	@if grep -nE '://|^-|file:' locks/*.txt; then echo "a lock names a host or a path" >&2; exit 1; fi

fmt: .venv/.dev ## format, and repair what can be repaired
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean: ## take away what make has installed
	rm -rf .venv .tools .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
