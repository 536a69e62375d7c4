# Two commands are enough for a reader: `make run` and `make test`. Both install their dependencies.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run tour test check format setup console pages browser programs screenshots smoothness
.PHONY: simulate chaos mutations schemathesis bench clean

VENV ?= .venv
PYTHON ?=
ARGS ?=
SEEDS ?= 500
EXAMPLES ?= 500

# With this variable set, every process that a test starts would compile all of Fairlane again.
unexport PYTHONDONTWRITEBYTECODE

BIN := $(VENV)/bin
READY := $(VENV)/.ready
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip --quiet --quiet --disable-pip-version-check --no-input
INSTALL = $(PIP) install --root-user-action=ignore --no-warn-script-location --constraint constraints.txt

help: ## List the targets
	@echo "The first command installs the dependencies, which takes about a minute."
	@echo "make run        set up, and open the console on a demo studio (ARGS=\"--port 9000\")"
	@echo "make tour       a short tour of Fairlane in the terminal"
	@echo "make test       set up and run every test (ARGS=\"tests/core -k lane\" for some)"
	@echo "make check      formatting, lint, types and import layers, console included"
	@echo "make format     format the code"
	@echo "make simulate   simulated worlds full of failures: 2 minutes (SEEDS=5000 for more)"
	@echo "make chaos      real kills, bad disks, power cuts, many processes: half an hour"
	@echo "make mutations  remove guards; a test must notice each: 8 minutes"
	@echo "make schemathesis  fuzz the HTTP API by its OpenAPI document: 15 minutes"
	@echo "make bench      benchmarks on SQLite and PostgreSQL: half an hour (ARGS=postgres for one)"
	@echo "make screenshots  every page of the console in both themes, into screenshots/"
	@echo "make smoothness   10,000 jobs and 200 events a second in a browser: 10 minutes"
	@echo "make setup      only create $(VENV) and install into it"
	@echo "make clean      remove $(VENV), the tour's database and all generated files"

run: console
	@exec $(BIN)/python examples/demo.py $(ARGS)

tour: $(READY)
	@$(BIN)/python examples/tour.py $(ARGS)

test: $(STAMP) console pages browser programs
	@$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

check: $(STAMP) console pages
	@echo "Checking formatting, lint, types and layers"
	@$(BIN)/ruff format --check --quiet --diff .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m tests.support.node check

format: $(STAMP)
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format --quiet .

bench: $(STAMP)
	@$(BIN)/python -m benchmarks $(ARGS)

simulate: $(STAMP)
	@$(BIN)/python -m simulation --seeds $(SEEDS) $(ARGS)

chaos: $(STAMP)
	@$(BIN)/python -m chaos $(ARGS)

mutations: $(STAMP)
	@$(BIN)/python -m mutations $(ARGS)

schemathesis: $(STAMP)
	@$(BIN)/python -m tests.support.schemathesis_run $(EXAMPLES) $(ARGS)

screenshots: $(STAMP) console browser
	@$(BIN)/python -m tests.console.screenshots $(ARGS)

smoothness: $(STAMP) console browser
	@$(BIN)/python -m tests.console.smoothness $(ARGS)

setup: $(STAMP) console
	@echo "$(VENV) is ready"

clean:
	@echo "Removing $(VENV), the tour's database and generated files"
	@rm -rf apps/dnslog/src/fairlane_dnslog/web/static/built apps/dnslog/page/node_modules
	@rm -rf "$(VENV)" src/fairlane/console console/node_modules screenshots build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache .peers benchmarks/.scratch
	@rm -f tour.db tour.db-* tour.db.*
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is newer than the files it was installed from, so a second run installs no package. A
# folder whose interpreter no longer starts (the tree was moved, Python was upgraded) is created
# again. READY is enough to run Fairlane, STAMP adds the tools for development.
$(READY): pyproject.toml constraints.txt $(wildcard apps/*/pyproject.toml)
	@"$(BIN)/python" -m pip --version >/dev/null 2>&1 || { $(find_python); $(need_venv); \
	    echo "Creating $(VENV) with $$($$python --version)"; \
	    $$python -m venv --clear "$(VENV)"; }
	@echo "Installing Fairlane into $(VENV) and building its console: about half a minute, once"
	@$(INSTALL) --editable '.[server]'
	@touch "$(READY)"

$(STAMP): $(READY)
	@echo "Installing the tools for tests: about half a minute, once (and when pyproject.toml changes)"
	@$(INSTALL) --editable '.[dev]' --editable apps/compressor --editable 'apps/archiver[gallery]' \
	    --editable 'apps/dnslog[gunicorn,postgres]' --editable 'apps/extractor[postgres,sherpa,whisper]'
	@touch "$(STAMP)"

# pip builds the console at installation; this target rebuilds it after a change.
console: $(READY)
	@$(BIN)/python hatch_build.py

# The same for the pages of the programs in apps/.
pages: $(STAMP)
	@$(BIN)/python apps/dnslog/hatch_build.py

# The tests of the console need a browser. Without one they are skipped with a message.
browser:
	@for name in "$$CHROMIUM" chromium chromium-browser google-chrome; do \
	    command -v "$$name" >/dev/null 2>&1 && exit 0; \
	done; $(need_chromium)

# Programs of Debian that some tests start: a pooler of PostgreSQL, and a voice that reads texts.
programs:
	@missing=; for name in pgbouncer flite; do \
	    PATH="$$PATH:/usr/sbin" command -v $$name >/dev/null 2>&1 || missing="$$missing $$name"; \
	done; [ -z "$$missing" ] || { $(need_programs); }

# Sets $$python to the first interpreter that is new enough.
define find_python
python=; \
for name in $(PYTHON) python3.11 python3 python3.12 python3.13 python3.14; do \
    if $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
        python=$$name; break; \
    fi; \
done; \
if [ -z "$$python" ]; then \
    echo "Fairlane needs Python 3.11 or newer and found none on the PATH." >&2; \
    echo "Install it (Debian and Ubuntu: apt-get install python3 python3-venv), or name one: make setup PYTHON=python3.12" >&2; \
    exit 1; \
fi
endef

# Debian ships the venv module as a separate package.
define need_venv
package=$$($$python -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'); \
if ! $$python -c 'import venv, ensurepip' >/dev/null 2>&1; then \
    if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
        echo "Installing $$package, a separate package on Debian"; \
        { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "$$package"; } >/dev/null 2>&1 \
            || { echo "apt-get could not install $$package; install it by hand and try again." >&2; exit 1; }; \
    else \
        echo "This Python has no venv module. Install it (Debian and Ubuntu: sudo apt-get install $$package) and try again." >&2; \
        exit 1; \
    fi; \
fi
endef

define need_chromium
if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
    echo "Installing chromium for the tests of the console: about a minute, once"; \
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends chromium fonts-noto-cjk; } >/dev/null 2>&1 \
        || echo "apt-get could not install chromium: tests in a browser are skipped." >&2; \
else \
    echo "There is no chromium: tests in a browser are skipped. Install it (Debian and Ubuntu: sudo apt-get install chromium), or set CHROMIUM to its path." >&2; \
fi
endef

define need_programs
if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
    echo "Installing$$missing for the tests: a few seconds, once"; \
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends $$missing; } >/dev/null 2>&1 \
        || echo "apt-get could not install$$missing: tests that need them are skipped." >&2; \
else \
    echo "Missing:$$missing; tests that need them are skipped. Install them (Debian and Ubuntu: sudo apt-get install$$missing)." >&2; \
fi
endef
