# langladder. `make` lists what can be made. Needs Python (3.11 or newer) and git, nothing else.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
# the first that is new enough, or whatever `python3` is, to say what it lacks
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3; do \
  $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; done; echo $$python)
VENV := .venv
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export PYTHONUNBUFFERED := 1
# compiled once, not at every start: a second of each `dvc`, several of each stage that trains
export PYTHONDONTWRITEBYTECODE :=
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# nothing here calls home
export DVC_NO_ANALYTICS := 1
export DO_NOT_TRACK := 1
export MLFLOW_DISABLE_TELEMETRY := true
export HF_HUB_DISABLE_TELEMETRY := 1

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

# Another build of torch than the one chosen before (TORCH=cpu, TORCH=cuda) makes the environment out of date.
TORCH ?=
ifneq ($(TORCH),)
ifneq ($(TORCH),$(shell cat $(VENV)/torch-build 2>/dev/null))
$(VENV)/ready $(VENV)/ready-dev: another-torch
endif
endif
.PHONY: another-torch
another-torch:

$(VENV)/ready: requirements.lock pyproject.toml scripts/install.py
	@"$(PYTHON)" scripts/install.py $(VENV) requirements.lock --torch "$(TORCH)"
	@git rev-parse --git-dir >/dev/null 2>&1 || dvc config --local core.no_scm true
	@touch $@

$(VENV)/ready-dev: requirements.lock requirements-dev.lock pyproject.toml scripts/install.py
	@"$(PYTHON)" scripts/install.py $(VENV) requirements.lock requirements-dev.lock --torch "$(TORCH)"
	@git rev-parse --git-dir >/dev/null 2>&1 || dvc config --local core.no_scm true
	@touch $(VENV)/ready $@

.PHONY: setup
setup: $(VENV)/ready-dev ## create the virtual environment from the lock files (torch by whether an NVIDIA GPU is here; TORCH=cpu, TORCH=cuda)

# What is misspelt would run the default ladder, for hours.
LADDERS := full $(notdir $(basename $(wildcard conf/ladder/*.yaml)))
ifneq ($(filter-out $(LADDERS),$(LADDER)),)
$(error LADDER=$(LADDER): there is LADDER=full, every rung of conf/, and a file each in conf/ladder/ ($(LADDERS)); without it the ladder of params.yaml is run)
endif

.PHONY: repro
repro: $(VENV)/ready ## set up, then run the whole DAG: corpus → models → reports/index.html (JOBS=n at a time; LADDER=history, english, claims or full)
	@# the tracking store takes seconds to make: beside the first stages, which do not need it
	@test -f mlflow.db || echo "== beside the first stages: making mlflow.db"
	@test -f mlflow.db || { python -m pipeline.runs prepare & }; python -m pipeline.$(if $(LADDER),ladder $(LADDER),parallel --summary)

# The files of tests that have a mark: collecting them all takes half a minute of each worker.
marked = $$(grep -rl --include='test_*.py' 'mark\.$(1)\b' tests)

.PHONY: test
test: setup ## set up, then run all tests
	@pytest -n auto --dist loadfile --no-loadscope-reorder --ignore=tests/browser -m "not long and not full and not cluster"

.PHONY: test-long
test-long: setup ## every command of the README, your own text through the DAG, lock files against the index; tests repeated for every rung
	@pytest -n 2 --dist loadfile --no-loadscope-reorder -m long $(call marked,long)

.PHONY: test-full
test-full: setup ## train every rung of conf/, twenty steps each, and write the report of the full ladder (ten minutes)
	@pytest -m full $(call marked,full)

.PHONY: test-cluster
test-cluster: setup ## docs/cluster.md on this machine: schedulers, dying workers, devices, tracking servers (ten minutes)
	@pytest -n 2 --dist loadfile --no-loadscope-reorder -m cluster $(call marked,cluster)

# An environment beside .venv that sees all that is in it: some libraries import these wherever they find them, slowly.
$(VENV)-peers/ready: setup requirements-peers.lock
	@$(PYTHON) -m venv $(VENV)-peers && $(VENV)-peers/bin/pip uninstall -qq -y setuptools # KenLM is built with that of .venv
	@echo "import site; site.addsitedir('$$($(VENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')')" \
	  > "$$($(VENV)-peers/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/langladder.pth"
	@"$(PYTHON)" scripts/install.py $(VENV)-peers requirements-peers.lock
	@touch $@

.PHONY: test-peers
test-peers: $(VENV)-peers/ready ## also compare with transformers, ONNX Runtime and KenLM (160 MB more; compiles KenLM)
	@$(VENV)-peers/bin/python -m pytest -n auto --dist loadfile -m "not cluster and not long" $$(grep -rl --include='*.py' importorskip tests)

.PHONY: test-browser
test-browser: $(VENV)-peers/ready ## every page of the explorer in Chromium (BROWSER=install: install Debian's if there is none)
	@$(if $(filter install,$(BROWSER)),scripts/chromium)
	@$(VENV)-peers/bin/python -m pytest -m browser tests/browser

.PHONY: lint
lint: setup ## ruff (lint and format) and mypy --strict
	@ruff check .
	@ruff format --check .
	@mypy

.PHONY: format
format: setup ## format the code, and fix what ruff can fix
	@ruff check --fix . ; ruff format .

.PHONY: ui
ui: $(VENV)/ready ## MLflow UI on http://127.0.0.1:5000 (PORT=… for another port)
	@python -m pipeline.runs links "http://127.0.0.1:$(or $(PORT),5000)"
	@MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false mlflow ui --backend-store-uri "$$(python -m pipeline.runs uri)" --port $(or $(PORT),5000) --workers 1

.PHONY: explore
explore: $(VENV)/ready ## explore the models in the browser, on http://127.0.0.1:8300 (PORT=… for another port)
	@langladder explore --port $(or $(PORT),8300) $(ARGS)

.PHONY: bench-explorer
bench-explorer: setup ## fifty users of the explorer at once: time of an answer, memory (two minutes)
	@python benchmarks/explorer_load.py $(ARGS)

.PHONY: compare
compare: $(VENV)/ready ## compare two ladders: A=HEAD B=. (commits, experiments or folders); SETS=". ladders/mine": rungs × data sets
	@python -m pipeline.compare $(if $(SETS),--across $(SETS),$(or $(A),HEAD) $(or $(B),.)) $(ARGS)

.PHONY: experiments
experiments: $(VENV)/ready ## compare DVC's experiments: only differences, without the hashes of inputs (ARGS=… for dvc exp show)
	@dvc exp show --no-pager --only-changed --drop '(conf|data|models|pipeline|reports/rungs|resolved|src)(/.*|$$)|.*\.yaml$$|metrics$$|curves$$' $(ARGS)

.PHONY: sweep
sweep: $(VENV)/ready ## a small Hydra sweep as an example: two rungs × two seeds, compared in MLflow
	@python -m pipeline.train lm -m lm=lstm,gpt seed=1,2 $(ARGS)

.PHONY: docs
docs: $(VENV)/ready ## write the generated tables and pictures of README and docs/ from the last run
	@python -m pipeline.document

.PHONY: site
site: setup ## the site, lessons executed → site/index.html (no network needed; to serve it: python -m http.server -d site)
	@NO_MKDOCS_2_WARNING=1 mkdocs build --strict --quiet

.PHONY: publish
publish: $(VENV)/ready ## the report, the site (if made) and models of the last run that run in the reader's browser → outputs/publish/
	@python -m pipeline.site.publish $(ARGS)

.PHONY: lessons
lessons: setup ## the lessons as notebooks → outputs/lessons/
	@python -m pipeline.site.lessons

.PHONY: data
data: $(VENV)/ready ## download the public sets with open licences into input/ (needs a network; LANGLADDER_DATA=… for another folder)
	@python benchmarks/fetch.py

.PHONY: lock
lock: ## resolve pyproject.toml for every Python and platform, write the lock files (ARGS=--upgrade: newest versions)
	@PYTHON="$(PYTHON)" scripts/lock $(ARGS)

.PHONY: sbom
sbom: ## the contents of the lock files, as CycloneDX → outputs/sbom.json
	@"$(PYTHON)" scripts/sbom.py outputs/sbom.json

.PHONY: clean
clean: ## remove everything that the pipeline made (not the environment, not DVC's cache, not the MLflow runs)
	@"$(PYTHON)" scripts/clean.py outputs multirun $(wildcard ladders/*/outputs ladders/*/multirun)
	@for place in . ladders/*; do test ! -d $$place || (cd $$place || exit; \
	  rm -rf resolved metrics curves checkpoints; \
	  rm -rf $$(grep -oE '(data|models|reports)/[a-z]+' $(CURDIR)/dvc.yaml | sort -u) reports/{index.html,ladder.*,timings.json}; \
	  find data models reports -type d -empty -delete 2>/dev/null || true); done # what else stands there is the user's
