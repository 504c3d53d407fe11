# Two commands are all: `make run` evaluates, `make test` tests; both set up what is missing and nothing twice.
VENV := .venv
PY := $(VENV)/bin/python
BROWSER := $(VENV)/browser
AXE := tests/node_modules/installed

.PHONY: setup run test test-slow hostile canary golden test-art test-verified chaos chaos-mutants bench house docs check format clean

run: setup
	@$(PY) run.py $(ARGS)

setup: $(VENV)/installed
	@test -x "$$(cat $(BROWSER) 2>/dev/null)" || $(PY) -m harness.browser.driver.executable --install > $(BROWSER)

$(VENV)/installed: pyproject.toml constraints.txt
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: $$(python3 --version) is what python3 is here" >&2; exit 2; }
	@test -x $(PY) || python3 -m venv $(VENV) || { echo "python3 -m venv failed: on Debian or Ubuntu, apt-get install python3-venv" >&2; exit 2; }
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

test: setup $(VENV)/installed-dev $(AXE)
	$(PY) -m pytest -n logical --dist worksteal -m 'not slow and not hostile' $(ARGS)

# What needs neither a browser nor processes of its own: for every commit, in under a minute.
test-fast: $(VENV)/installed-dev
	$(PY) -m pytest -n logical --dist worksteal -m 'not integration and not slow and not hostile' $(ARGS)

# Whole sweeps that are killed, cut off and taken up again: Ray, Slurm, rate limits, every way to die.
test-slow: setup $(VENV)/installed-dev $(AXE)
	$(PY) -m pytest -n logical --dist worksteal -m slow $(ARGS)

# Every hostile or broken input of tests/hostile; `make test` runs the quick ones of them.
hostile: setup $(VENV)/installed-dev
	$(PY) -m pytest -n logical --dist worksteal tests/hostile $(ARGS)

# Secrets in every way in, looked for in every byte that comes out; a table of both.
canary: setup $(VENV)/installed-dev
	@$(PY) -m tests.hostile.canaries $(ARGS)

# axe-core, for the tests of accessibility. Where npm is missing or refuses, they are skipped and everything else is tested.
$(AXE): tests/package.json
	@if ! command -v npm >/dev/null; then \
	  echo "npm is not here: tests of accessibility are skipped" >&2; \
	elif npm install --prefix tests --no-package-lock --no-audit --no-fund --loglevel error >&2; then \
	  touch $@; \
	else \
	  echo "npm cannot install axe-core (see above): tests of accessibility are skipped" >&2; \
	fi

# ART's own reader on our files, in an environment of its own: its pins are not ours. Of polars, 2.1.0 cannot average a
# column of text, which ART's checkpoint logic asks of it; duckdb, numpy and polars it needs and does not ask for.
test-art: .venv-art/installed
	.venv-art/bin/python -m pytest -p no:cacheprovider tests/tracking/test_art.py $(ARGS)

.venv-art/installed: Makefile pyproject.toml
	rm -rf .venv-art && python3 -m venv .venv-art
	.venv-art/bin/python -m pip install --quiet --disable-pip-version-check \
	  -e '.[tracking]' openpipe-art==0.5.18 'polars>=1.26,<2.1' duckdb numpy pytest pytest-asyncio
	@touch $@

# The scorer of webarena-verified on a run of ours: we run from our environment, it from its own, as its pins are not ours.
test-verified: setup $(VENV)/installed-dev .venv-verified/installed
	$(PY) -m pytest tests/e2e/test_verified.py $(ARGS)

.venv-verified/installed: Makefile
	rm -rf .venv-verified && python3 -m venv .venv-verified
	.venv-verified/bin/python -m pip install --quiet --disable-pip-version-check webarena-verified==1.2.3
	@touch $@

# Recorded outputs of WebArena's own code in GOLDEN_DIR (default ../shared/golden), against ours.
golden: $(VENV)/installed-dev
	@$(PY) -m tests.golden.compare

# Kills runs at seeded moments (ARGS='--seed 7 --kills 40'), and shows that nothing was lost, nor paid or done twice: on the
# embedded sites, then on one that counts effects on its own side (ARGS='--site own --episodes 200'; --exact: one case of it).
chaos: setup $(VENV)/installed-dev
	@$(PY) benchmarks/chaos.py --site both $(ARGS)

# The same against promises broken on purpose: each must be noticed.
chaos-mutants: setup $(VENV)/installed-dev
	@$(PY) benchmarks/chaos_mutants.py $(ARGS)

# Every benchmark, ratios into benchmarks/results.json (ARGS='--only observation limiter --quick').
bench: setup $(VENV)/installed-dev
	@$(PY) -m benchmarks.bench $(ARGS)

# How plainly the code is laid out, in counts (ARGS=--names lists what was counted).
house: $(VENV)/installed-dev
	@$(PY) -m benchmarks.house $(ARGS)

# The documentation as pages in build/docs that open from disk; the schema of journals is written again first.
docs: $(VENV)/installed-docs
	@mkdir -p build
	$(PY) -m harness.codec.schema > build/journal.schema.json && mv build/journal.schema.json docs/schema/
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --quiet --strict -f docs/mkdocs.yml

$(VENV)/installed-docs: $(VENV)/installed
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@

check: $(VENV)/installed-dev
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy harness
	$(PY) -m pytest -q tests/test_architecture.py

format: $(VENV)/installed-dev
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

clean:
	rm -rf $(VENV) .venv-art .venv-verified tests/node_modules results build .mypy_cache .ruff_cache .pytest_cache *.egg-info
