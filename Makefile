# Every target that runs something first sets up .venv when it is missing or older than what it is
# made from. Another Python than python3 is named on the command line: make test PYTHON=python3.13

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed

PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# trueskill comes as source only and pip would fetch what builds it without looking at hashes, so
# that is installed first and builds are done with it.
PIP_INSTALL_PINNED := $(PIP_INSTALL) --no-build-isolation --require-hashes

UV_COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-header

.DEFAULT_GOAL := help
.PHONY: help tournament test rules-matrix check nightly soak proto format requirements clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r name text; do \
		printf '  make %-14s %s\n' "$$name" "$$text"; done

tournament: $(INSTALLED) ## play tournaments/quickstart.toml with the sample bots
	$(BIN)/kratzen run tournaments/quickstart.toml

test: $(INSTALLED) ## run the tests
	$(BIN)/python -m pytest -n 2

rules-matrix: $(INSTALLED) ## have the sample bots play every value of every option over gRPC
	$(BIN)/python -m pytest -m slow tests/test_rules_matrix.py

check: $(INSTALLED) ## lint, format, types, the protocol's files, the generated code
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/buf lint proto
	$(BIN)/buf format --diff --exit-code proto
	PYTHON=$(BIN)/python proto/generate --check

# The tests take from a second to minutes: who has none left takes over from the other.
STEALING := -n 2 --dist worksteal

# What judges times runs by itself, first.
nightly: $(INSTALLED) ## run the slow tests too, with many more generated cases (under half an hour)
	HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest -m "alone and not soak" --timeout 1800
	HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest $(STEALING) -m "not alone and not soak" --timeout 1800

soak: $(INSTALLED) ## run everything, without a limit of time (hours)
	HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest -m alone --timeout 0
	HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest $(STEALING) -m "not alone" --timeout 0

proto: $(INSTALLED) ## make the generated code from proto/kratzen/v1/*.proto
	$(BIN)/buf format --write proto
	PYTHON=$(BIN)/python proto/generate

format: $(INSTALLED) ## format the code and mend what ruff can mend
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format
	$(BIN)/buf format --write proto

requirements: $(INSTALLED) ## pin anew what pyproject.toml and proto/requirements.in ask for
	$(UV_COMPILE) --group pyproject.toml:build --output-file requirements-build.txt
	$(UV_COMPILE) pyproject.toml --constraint requirements-build.txt --output-file requirements.txt
	$(UV_COMPILE) pyproject.toml --group pyproject.toml:build --group pyproject.toml:dev \
		--constraint requirements.txt --output-file requirements-dev.txt
	$(UV_COMPILE) proto/requirements.in --output-file proto/requirements.txt

clean: ## remove the environments and what the tools left (not runs/)
	rm -rf .venv .venv-proto .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist

$(INSTALLED): requirements-build.txt requirements-dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "kratzen needs Python 3.11 or newer with its venv module: install it" \
			"(Debian, Ubuntu: apt-get install python3 python3-venv) or name one with make PYTHON=..." >&2; \
		exit 1; }
	@echo "Setting up .venv (needed once; half a minute or so)"
	@$(PYTHON) -m venv .venv
	@$(PIP_INSTALL_PINNED) -r requirements-build.txt
	@$(PIP_INSTALL_PINNED) -r requirements-dev.txt
	@$(PIP_INSTALL) --no-build-isolation --no-deps --editable .
	@touch $@
