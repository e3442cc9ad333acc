# Everything a newcomer needs: make check, make test. 'make help' lists the rest.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# For the whole suite: tests that fork a copy of their runner, apart from those that make a runner large. Each copy costs by its size.
FORKING := tests/attack tests/real tests/unit/host tests/unit/sandbox tests/unit/network tests/unit/install tests/test_events_cli.py tests/test_hosts.py tests/test_image.py \
	tests/test_must_hold.py tests/test_reading.py tests/test_side_effects.py
PYTEST = $(BIN)/python -m pytest --dist worksteal
# For every Python from 3.10 on and every machine, whatever index they come from.
PIN = $(BIN)/uv pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-emit-index-url --no-header $(if $(UPGRADE),--upgrade)
# What root installs: as the tests have it, and no sources, because what builds those would come without a hash.
ROOTS = --constraint requirements.txt --no-annotate --no-build --emit-build-options
VERSION := $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' hostagent/__init__.py)
IMAGE ?= hostagent:$(VERSION)
# Without compiled files each program that a test starts compiles a thousand modules.
unexport PYTHONDONTWRITEBYTECODE
.DEFAULT_GOAL := help
.PHONY: help check test test-full real test-pythons test-matrix fuzz attack lint bench bench-fleet dist image demo-cluster demo-cluster-down docs schemas hosts golden recipe look lock clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

check: $(VENV)/.installed  ## install into .venv and judge this machine; succeeds whenever a verdict was reached
	@$(BIN)/hostagent check; code=$$?; [ $$code -le 1 ] || exit $$code

test: $(VENV)/.tests real  ## install what the tests need, run the linters and, of each group in tests/groups.toml, this commit's slice; T=nccl: one topic
ifeq ($(origin T),command line)
	TOPIC=$(T) $(PYTEST) -n 2
else
	$(MAKE) --no-print-directory lint
	SAMPLE=all $(PYTEST) -n 4
endif

test-full: $(VENV)/.tests real lint  ## run every test and the linters: before a release
	@bash tests/real/install_kubernetes.sh 1.36 || echo "Note: no kube-apiserver 1.36: its tests will skip" >&2
	@bash tests/real/full_slurm_roots.sh || echo "Note: no Slurm 24.11 and 26.05: their tests will skip" >&2
	@status=0; \
	unset SAMPLE TOPIC; \
	$(PYTEST) -n 3 $(FORKING) || status=$$?; \
	$(PYTEST) -n 2 $(FORKING:%=--ignore=%) || status=$$?; \
	exit $$status

real: $(VENV)/.tests
	bash tests/real/install.sh
	@$(BIN)/python -m compileall -q hostagent checks/hostagent_checks tests

test-pythons:  ## run the tests on every Python from 3.10 to 3.14 that PATH or pyenv has, and name the missing
	bash tests/pythons.sh

fuzz: $(VENV)/.tests  ## look for examples that break a property or a parser, for FUZZ_SECONDS (120)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --only-binary atheris -e '.[fuzz]' 2>/dev/null || true
	$(BIN)/python -m tests.fuzz

test-matrix: $(VENV)/.tests  ## ask each real NCCL about NCCL_NETWORKS (1500) networks and settings, others each time (root)
	NCCL_SEED=$${NCCL_SEED:-$$(date +%s)} NCCL_NETWORKS=$${NCCL_NETWORKS:-1500} $(BIN)/python -m pytest tests/real/test_libnccl.py

attack: $(VENV)/.tests  ## repeat the attacks, and the walk over lost answers, with all their counts (root, gcc)
	ATTACK=1 $(BIN)/python -m pytest tests/attack tests/test_hostile.py tests/real/test_install_kill.py tests/test_hosts.py::test_no_lost_answer_makes_a_host_look_better

lint: $(VENV)/.tests  ## style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(VENV)/.tests  ## measure time, memory and processes against peers and a floor; the daemon for half an hour, and how fast it publishes (root)
	$(BIN)/python tests/bench/run.py
	$(BIN)/python tests/bench/second_run.py
	$(BIN)/python tests/bench/gate.py
	$(BIN)/python tests/bench/gatecluster.py
	$(BIN)/python tests/bench/slurm.py
	$(BIN)/python tests/bench/daemon_latency.py
	$(BIN)/python tests/bench/daemon_soak.py

bench-fleet: $(VENV)/.tests  ## the agents of NODES (10000) nodes against a real API server and the controller, each phase SECONDS (120)
	$(BIN)/python tests/bench/fleet.py --nodes $(or $(NODES),10000) --seconds $(or $(SECONDS),120)

dist: $(VENV)/.tests  ## make what people install of this commit, in dist/: single files, .deb, .rpm, wheel, sdist, wheels, sums, SBOM (Go, for the packages)
	@[ ! -x "$$(command -v go)" ] || bash tests/real/install_nfpm.sh
	$(BIN)/python -m release

image:  ## build the container image of the agent and the controller as IMAGE, on BASE, by podman or docker
	$(or $(shell command -v podman),docker) build -f daemonset/Containerfile -t $(IMAGE) $(if $(BASE),--build-arg BASE=$(BASE)) \
	  --build-arg VERSION=$(VERSION) --build-arg REVISION=$(shell git rev-parse HEAD 2>/dev/null) .

demo-cluster: $(VENV)/.tests  ## start a small Kubernetes on this machine, with an agent on each node, to try (docs/demo-cluster.md; builds it the first time)
	@$(BIN)/python -m tests.democluster up

demo-cluster-down: $(VENV)/.tests  ## end it, and remove .demo-cluster
	@$(BIN)/python -m tests.democluster down

docs: $(VENV)/.tests  ## write what is made from other files: built-in profiles as JSON, pages of checks and recorded hosts, output in README
	$(BIN)/python -m tests.profiles
	$(BIN)/python -m tests.docs
	$(BIN)/python -m tests.hostlist
	$(BIN)/python -m tests.golden
	$(BIN)/python -m tests.readme

hosts: $(VENV)/.tests  ## rebuild and record the simulated hosts (root, gcc)
	$(BIN)/python -m tests.trees.record
	$(BIN)/python -m tests.golden

golden: $(VENV)/.tests  ## write down what people see of the recorded hosts; read the difference before you commit it
	$(BIN)/python -m tests.golden

recipe: $(VENV)/.tests  ## run the commands of docs/install.md in a made root and write down what they print (root)
	$(BIN)/python -m tests.real.recipe
	$(BIN)/python -m tests.docs

look: $(VENV)/.tests  ## pictures of the page of HTML, on a desk, on a phone, in the dark, on paper (Chromium); LOOK is the folder
	$(BIN)/python -m tests.look $(LOOK)

lock: $(VENV)/.tests  ## pin with hashes what root installs and the test tools, and list licences; UPGRADE=1: the newest of each
	$(BIN)/python -m pip install --quiet uv
	$(PIN) --extra dev --allow-unsafe pyproject.toml -o requirements.txt
	printf 'hatchling\neditables\n' | $(PIN) $(ROOTS) pyproject.toml - -o requirements-run.txt
	printf 'hatchling\neditables\n' | $(PIN) $(ROOTS) --extra install pyproject.toml - -o requirements-install.txt
	$(BIN)/python -m tests.licences

clean:  ## remove what the targets made
	rm -rf $(VENV) $(VENV)-3.* dist build .demo-cluster.lock .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "Error: this Python cannot make virtual environments. Install it: 'apt-get install python3-venv' (Debian, Ubuntu) or 'dnf install python3' (RHEL)." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "Error: found $$($(PYTHON) --version), wanted Python 3.10 or newer: 'make PYTHON=python3.11 $(MAKECMDGOALS)'." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml requirements-run.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-run.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-index --no-build-isolation --no-deps -e .
	@touch $@

$(VENV)/.tests: $(VENV)/bin/python pyproject.toml requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	@touch $@ $(VENV)/.installed
