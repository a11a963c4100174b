# langladder. `make` lists what can be made. Needs Python 3.11 and git, nothing else.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export PYTHONUNBUFFERED := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# nothing here calls home
export DVC_NO_ANALYTICS := 1
export DO_NOT_TRACK := 1
export MLFLOW_DISABLE_TELEMETRY := true
export HF_HUB_DISABLE_TELEMETRY := 1

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

$(VENV)/ready: requirements.lock pyproject.toml
	@echo "== setting up $(VENV) (exact versions of requirements.lock)"
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if v == (3, 11) else f"langladder needs Python 3.11, this is {v[0]}.{v[1]}; set PYTHON=/path/to/python3.11")'
	@test -x $(VENV)/bin/pip || $(PYTHON) -m venv $(VENV)
	@# torch, half of all bytes, beside the rest: the lock names every package, so neither needs the other
	@pip install -q --no-deps --no-compile "$$(grep ^torch== requirements.lock)" & torch=$$!; \
	  pip install -q --no-deps --no-compile -r <(grep -v ^torch== requirements.lock) && wait $$torch
	@pip install -q --no-deps --no-build-isolation -e .
	@git rev-parse --git-dir >/dev/null 2>&1 || dvc config --local core.no_scm true
	@touch $@

$(VENV)/ready-dev: $(VENV)/ready requirements-dev.lock
	@pip install -q --no-deps --no-compile -r requirements-dev.lock
	@touch $@

.PHONY: setup
setup: $(VENV)/ready $(VENV)/ready-dev ## create the virtual environment from the lock files

.PHONY: repro
repro: $(VENV)/ready ## set up, then run the whole DAG: corpus → models → reports/index.html (JOBS=n at a time; LADDER=full)
	@# the tracking store takes seconds to make: beside the first stages, which do not need it
	@python -m pipeline.runs prepare & $(if $(filter full,$(LADDER)),python -m pipeline.ladder &&) python -m pipeline.parallel
	@test -f reports/index.html || dvc repro -q -f -s report
	@python -m pipeline.summary

.PHONY: test
test: setup ## set up, then run all tests
	@pytest -n auto --dist loadfile --no-loadscope-reorder -m "not long"

.PHONY: test-long
test-long: setup ## run every command of the README, and own text through the whole DAG, in copies of the project (ten minutes)
	@pytest -m long

# An environment beside .venv that sees all that is in it: some libraries import these wherever they find them, slowly.
$(VENV)-peers/ready: setup requirements-peers.lock
	@$(PYTHON) -m venv $(VENV)-peers
	@echo "import site; site.addsitedir('$$($(VENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')')" \
	  > "$$($(VENV)-peers/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/langladder.pth"
	@$(VENV)-peers/bin/pip install -q --no-deps -r requirements-peers.lock
	@touch $@

.PHONY: test-peers
test-peers: $(VENV)-peers/ready ## compare with transformers, ONNX Runtime and KenLM too (160 MB more; compiles KenLM)
	@$(VENV)-peers/bin/python -m pytest $$(grep -rl --include='*.py' importorskip tests)

.PHONY: lint
lint: setup ## ruff (lint and format) and mypy --strict
	@ruff check .
	@ruff format --check .
	@mypy

.PHONY: format
format: setup ## let ruff mend what it can
	@ruff check --fix . ; ruff format .

.PHONY: ui
ui: $(VENV)/ready ## MLflow UI on http://127.0.0.1:5000 (PORT=… for another port)
	@MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false mlflow ui --backend-store-uri "$$(python -m pipeline.runs uri)" --port $(or $(PORT),5000) --workers 1

.PHONY: compare
compare: $(VENV)/ready ## two ladders side by side: A=HEAD B=. (commits, branches, experiments or folders)
	@python -m pipeline.compare $(or $(A),HEAD) $(or $(B),.) $(ARGS)

.PHONY: sweep
sweep: $(VENV)/ready ## a small Hydra sweep as an example: two rungs × two seeds, compared in MLflow
	@python -m pipeline.train_lm -m lm=lstm,gpt seed=1,2 $(ARGS)

.PHONY: docs
docs: $(VENV)/ready ## write the generated tables and pictures of README and docs/ from the last run
	@python -m pipeline.document

.PHONY: data
data: $(VENV)/ready ## fetch the public sets with open licences into input/ (needs a network; LANGLADDER_DATA=… elsewhere)
	@python benchmarks/fetch.py

.PHONY: lock
lock: ## resolve pyproject.toml afresh and write the lock files
	@scripts/lock

.PHONY: clean
clean: ## remove everything that the pipeline made (not the environment, not DVC's cache, not the MLflow runs)
	@rm -rf resolved data models metrics curves reports checkpoints outputs multirun
