# Two commands are all: `make run` evaluates, `make test` tests; both set up what is missing and nothing twice.
VENV := .venv
PY := $(VENV)/bin/python
BROWSER := $(VENV)/browser

.PHONY: setup run test test-slow golden test-art test-verified chaos chaos-mutants bench docs check format clean

run: setup
	@$(PY) run.py $(ARGS)

setup: $(VENV)/installed
	@test -x "$$(cat $(BROWSER) 2>/dev/null)" || $(PY) -m harness.browser.executable --install > $(BROWSER)

$(VENV)/installed: pyproject.toml constraints.txt
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: $$(python3 --version) is what python3 is here" >&2; exit 2; }
	@test -x $(PY) || python3 -m venv $(VENV) || { echo "python3 -m venv failed: on Debian or Ubuntu, apt-get install python3-venv" >&2; exit 2; }
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

test: setup $(VENV)/installed-dev
	$(PY) -m pytest -n logical --dist worksteal -m 'not slow' $(ARGS)

# Whole sweeps that are killed, cut off and taken up again: Ray, Slurm, rate limits, every way to die.
test-slow: setup $(VENV)/installed-dev
	$(PY) -m pytest -n logical --dist worksteal -m slow $(ARGS)

# ART's own reader on our files, in an environment of its own: its pins are not ours. Of polars, 2.1.0 cannot average a
# column of text, which ART's checkpoint logic asks of it.
test-art:
	@test -e .venv-art/installed || { rm -rf .venv-art && python3 -m venv .venv-art \
	  && .venv-art/bin/python -m pip install --quiet --disable-pip-version-check \
	    openpipe-art==0.5.18 'polars>=1.26,<2.1' duckdb numpy orjson pyarrow pytest pytest-asyncio \
	  && touch .venv-art/installed; } || { echo "skipped: openpipe-art cannot be installed here (see above)"; exit 0; }; \
	test ! -e .venv-art/installed || .venv-art/bin/python -m pytest -p no:cacheprovider tests/tracking/test_art.py $(ARGS)

# The scorer of webarena-verified on a run of ours, in an environment of its own: its pins are not ours.
test-verified: setup $(VENV)/installed-dev
	@test -e .venv-verified/installed || { rm -rf .venv-verified && python3 -m venv .venv-verified \
	  && .venv-verified/bin/python -m pip install --quiet --disable-pip-version-check webarena-verified==1.2.3 \
	  && touch .venv-verified/installed; } || { echo "skipped: webarena-verified cannot be installed here (see above)"; exit 0; }; \
	test ! -e .venv-verified/installed || $(PY) -m pytest tests/e2e/test_verified.py $(ARGS)

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
	rm -rf $(VENV) .venv-art .venv-verified results build .mypy_cache .ruff_cache .pytest_cache *.egg-info
