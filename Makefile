# Two commands are all: `make run` evaluates, `make test` tests; both set up what is missing and nothing twice.
VENV := .venv
PY := $(VENV)/bin/python
BROWSER := $(VENV)/browser

.PHONY: setup run test check format clean

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
	$(PY) -m pytest $(ARGS)

check: $(VENV)/installed-dev
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy harness
	$(PY) -m pytest -q tests/test_architecture.py

format: $(VENV)/installed-dev
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

clean:
	rm -rf $(VENV) results build .mypy_cache .ruff_cache .pytest_cache *.egg-info
