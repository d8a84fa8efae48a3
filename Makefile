# One entry for everything. `make help` lists the targets.
#
# On a developer's machine build outputs stay in the checkout (target, .venv). With CI set they live in a cache folder
# under the user's home, so that a fresh clone rebuilds little; nothing relies on what is left there.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

INFEED_CACHE ?= $(HOME)/.cache/infeed
ifdef CI
export CARGO_TARGET_DIR ?= $(INFEED_CACHE)/target
VENV ?= $(INFEED_CACHE)/venv
else
export CARGO_TARGET_DIR ?= $(CURDIR)/target
VENV ?= $(CURDIR)/.venv
endif
PYTHON ?= python3
# The oldest systems that the wheel of `make dist` is for, by their glibc.
MANYLINUX ?= manylinux_2_17
BIN := $(VENV)/bin
# cmake from pip, where the system has none, is found here.
export PATH := $(BIN):$(PATH)
WHEELS := $(CARGO_TARGET_DIR)/wheels
CARGO_TEST := $(shell cargo nextest --version >/dev/null 2>&1 && echo "nextest run --no-fail-fast" || echo "test --no-fail-fast")

.PHONY: help tools demo venv venv-tf environments develop test test-gpu test-rust test-python test-tf check features portable hdf5 zarr netcdf3 root fuzz schedules allocations campaign remote-chaos soak s3s-fs bench supply dist dist-try lock fmt lint lint-rust lint-python doc docs stubs golden example clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

tools:  # nasm and cmake, which libjpeg-turbo needs to be built with SIMD
	@scripts/tools.sh "$(VENV)" "$(PYTHON)"

demo: tools  ## build infeed, make a small data set, load it, show rate, waits and verdict
	cargo build --profile demo -q -p infeed-cli --no-default-features --features images
	@"$(CARGO_TARGET_DIR)/demo/infeed" demo

$(BIN)/python:
	$(PYTHON) -m venv "$(VENV)"

# Installed anew when the lock file changes, not when make feels like it. An installation that was killed can leave packages that
# pip stumbles over: then the environment is made anew.
$(VENV)/.stamp: requirements-dev.lock | $(BIN)/python
	"$(BIN)/pip" install -q --disable-pip-version-check -r requirements-dev.lock || { \
		$(PYTHON) -m venv --clear "$(VENV)"; \
		"$(BIN)/pip" install -q --disable-pip-version-check -r requirements-dev.lock; }
	touch $@

venv: $(VENV)/.stamp  # the test environment

# Made in an environment of its own, so that nothing is in it but what the list asks for. Needs a network.
lock:  ## write requirements-dev.lock anew from requirements-dev.txt
	folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	$(PYTHON) -m venv "$$folder"; \
	"$$folder/bin/pip" install -q --disable-pip-version-check -r requirements-dev.txt packaging; \
	"$$folder/bin/python" scripts/lock.py > "$$folder/lock"; \
	mv "$$folder/lock" requirements-dev.lock

venv-tf:  # the test environment of the TensorFlow door
	@scripts/test-tf.sh "$(VENV)-tf" "$(PYTHON)"

develop: tools venv  ## build the Python package and install it into the virtual environment
	rm -rf "$(WHEELS)"
	"$(BIN)/maturin" build --release -q --interpreter "$(BIN)/python" --out "$(WHEELS)"
	"$(BIN)/pip" install -q --disable-pip-version-check --force-reinstall --no-deps "$(WHEELS)"/infeed-*.whl

$(VENV)-dist/.stamp: requirements-dist.txt
	$(PYTHON) -m venv "$(VENV)-dist"
	"$(VENV)-dist/bin/pip" install -q --disable-pip-version-check -r requirements-dist.txt
	touch $@

# zig links against the symbols of an old glibc, so that the wheel runs on clusters that are older than this machine.
dist: tools $(VENV)-dist/.stamp  ## build wheel (also for old clusters), bill of materials (CycloneDX) and source distribution into dist/
	rm -rf dist
	PATH="$(VENV)-dist/bin:$$PATH" maturin build --release --locked -q --zig --compatibility $(MANYLINUX) \
		--interpreter "$(VENV)-dist/bin/python" --out dist
	"$(VENV)-dist/bin/python" scripts/wheel_symbols.py dist/infeed-*.whl
	"$(VENV)-dist/bin/auditwheel" show dist/infeed-*.whl
	"$(VENV)-dist/bin/maturin" sdist --out dist
	"$(VENV)-dist/bin/python" scripts/sbom.py dist/infeed-*.whl > dist/infeed.cdx.json

dist-try: dist  # installs the wheel and the source distribution into bare environments and uses them
	scripts/try_package.sh "$(PYTHON)" dist/infeed-*.whl
	scripts/try_package.sh "$(PYTHON)" dist/infeed-*.tar.gz

# Environments are downloaded and unpacked while clippy keeps the processors busy.
test: tools  ## lint, build and pass every test
	@$(MAKE) --no-print-directory -j2 environments lint-rust
	@$(MAKE) --no-print-directory lint-python test-rust example test-python test-tf

environments: venv
	@$(MAKE) --no-print-directory venv-tf

test-rust: tools
	cargo $(CARGO_TEST) --workspace --exclude infeed-python
	cargo test -q --doc --workspace --exclude infeed-python

# Built together with the rest: chosen alone, it would build its dependencies once more with other features.
example: tools
	cargo build -q --workspace --exclude infeed-python --example train
	"$(CARGO_TARGET_DIR)/debug/examples/train"

test-python: develop
	"$(BIN)/python" -m mypy
	"$(BIN)/python" -m mypy.stubtest infeed --mypy-config-file pyproject.toml --allowlist tests/stubtest-allow.txt --ignore-disjoint-bases --ignore-unused-allowlist
	"$(BIN)/python" -m pytest -q

test-gpu: develop  ## on a machine with a GPU: what it decodes and draws, against the processor, with damaged files and under load
	"$(BIN)/python" scripts/gpu_check.py $(PHOTOS)

test-tf: develop  # the TensorFlow door, in an environment of its own
	@scripts/test-tf.sh "$(VENV)-tf" "$(PYTHON)" "$(WHEELS)"

check: RUNS ?= 40
check: test supply features portable hdf5 zarr netcdf3 root fuzz schedules allocations campaign remote-chaos dist-try  ## everything in test, and the slow checks: features, portable code, fuzzing, docs, licences, packages
	RUSTDOCFLAGS="-D warnings" cargo doc -q --no-deps --workspace --exclude infeed-python

# Licences, bans, duplicates and sources are always checked; advisories where the tools and their databases can be had.
supply: venv  # what the wheel and the test environment are made of
	"$(BIN)/python" scripts/supply.py
	@if ! cargo deny --version >/dev/null 2>&1; then echo "cargo-deny is not installed: advisories not checked"; \
	else cargo deny check licenses bans sources; \
		if cargo deny fetch db >/dev/null 2>&1; then cargo deny check advisories; \
		else echo "the advisory database cannot be fetched: advisories not checked"; fi; fi
	@if command -v pip-audit >/dev/null; then pip-audit -r requirements-dev.lock --no-deps --disable-pip; \
	else echo "pip-audit is not installed: Python packages not checked"; fi

portable: tools  # pixel and parser tests without SIMD and without C decoders, as other processors would run them
	RUSTFLAGS="--cfg infeed_portable" cargo $(CARGO_TEST) --target-dir "$(CARGO_TARGET_DIR)/portable" \
		-p infeed-arrays -p infeed-codecs -p infeed-hdf5 -p infeed-jpeg -p infeed-netcdf3 -p infeed-png -p infeed-resample -p infeed-pixels -p infeed-records -p infeed-root -p infeed-tokens -p infeed-zarr

zarr: venv  # every array of generated Zarr stores against zarr-python: types, codecs, shards, fill values, both versions
	"$(BIN)/python" scripts/zarr_matrix.py

netcdf3: venv  # every variable of generated classic NetCDF files against netCDF4 and SciPy
	"$(BIN)/python" scripts/netcdf3_matrix.py

root: venv  # every column of generated ROOT files against uproot: types, shapes, compressions, baskets
	"$(BIN)/python" scripts/root_matrix.py

hdf5: venv  # every data set of generated HDF5 files against h5py: types, layouts, filters, library versions
	"$(BIN)/python" scripts/hdf5_matrix.py

features: tools  # combinations of Cargo features that users would choose
	scripts/features.sh

fuzz:  ## fuzz every parser and every call into C, FUZZ seconds each (SANITIZER=address: with AddressSanitizer)
	scripts/fuzz.sh $(or $(FUZZ),60)

schedules: develop  # SCHEDULES seeds of each of four kinds of storage faults, for every format
	INFEED_SCHEDULES=$(or $(SCHEDULES),250) "$(BIN)/python" -m pytest -q -s tests/test_stores.py -k never_mix

allocations: develop  # lets each allocation of a run fail, for every format: no process may die
	INFEED_ALLOCATIONS=0 "$(BIN)/python" -m pytest -q -s tests/test_allocations.py

campaign: develop  # forks, exits and interrupts, CAMPAIGN of each: no child may hang
	for what in forks exits interrupts; do "$(BIN)/python" scripts/campaign.py $$what --count $(or $(CAMPAIGN),300); done

remote-chaos: develop  ## RUNS (200) epochs of remote data through a proxy with every fault on: no row may suffer
	"$(BIN)/python" scripts/remote_chaos.py --runs $(or $(RUNS),200)

soak: develop  ## kill, resume, rescale, damage and disturb pipelines for MINUTES (10), and prove that no row is lost
	"$(BIN)/python" scripts/soak.py --minutes $(or $(MINUTES),10) $(SOAK)

# Not part of anything: it takes about 15 minutes. Where it is installed, the tests use it; where not, they say so and go on.
s3s-fs:  ## build s3s-fs, a server of S3 that checks signatures, for the tests
	cargo install --locked --version 0.14.1 --features binary s3s-fs --root "$${INFEED_SERVERS:-$$HOME/.cache/infeed/servers}/s3s"

bench: develop  ## measure infeed and its peers side by side
	"$(BIN)/python" benches/run.py $(BENCH)

fmt: venv  ## format everything
	cargo fmt --all
	"$(BIN)/ruff" format -q python tests benches scripts examples
	"$(BIN)/ruff" check -q --fix python tests benches scripts examples

lint: lint-rust lint-python  ## formatting, clippy, ruff

lint-rust: tools
	cargo fmt --all --check
	cargo clippy -q --workspace --all-targets -- -D warnings

lint-python: venv
	"$(BIN)/ruff" format -q --check python tests benches scripts examples
	"$(BIN)/ruff" check -q python tests benches scripts examples

# The reference is made from the package that is installed.
docs: develop  ## build the documentation into site/, for a browser without a network
	NO_MKDOCS_2_WARNING=1 "$(BIN)/mkdocs" build --strict -q

doc:  ## build the Rust documentation
	cargo doc --no-deps --workspace --exclude infeed-python

stubs: develop  ## generate what Python knows of transforms and formats from their tables
	"$(BIN)/python" scripts/stubs.py
	"$(BIN)/python" scripts/formats.py

golden:  ## make the golden files and the seeds of fuzzing anew (needs Pillow and torchvision in the environment)
	"$(BIN)/python" crates/infeed-resample/golden/make.py
	"$(BIN)/python" crates/infeed-png/golden/make.py
	"$(BIN)/python" crates/infeed-pixels/golden/make.py
	"$(BIN)/python" crates/infeed-zarr/golden/make.py
	"$(BIN)/python" crates/infeed-netcdf3/golden/make.py
	"$(BIN)/python" crates/infeed-root/golden/make.py
	"$(BIN)/python" crates/infeed-fuzz/seeds/make.py

clean:  ## remove build outputs
	cargo clean -q
	rm -rf "$(VENV)" "$(VENV)-tf" "$(VENV)-dist" dist
