# Commands for developers. CI runs the same ones.

CARGO ?= cargo
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
BIN := $(TARGET_DIR)/release/iogauge
PREFIX ?= /usr/local
SHELL_DIRS := bash-completion/completions zsh/site-functions fish/vendor_completions.d

.DEFAULT_GOAL := build

.PHONY: run build mpi test test-hosts test-iris attack fuzz truth bench versus-fio versus-disk versus-sweep repeat versus-suite versus-db report-bench audit dist dist-mpi test-dist fmt lint doc site check-workflows check-packaging man completions install uninstall clean help

help: ## Print this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/make \1\t\2/p' Makefile | expand -t 22

build: ## Build the release binary
	$(CARGO) build --release -p iogauge

# No --limit: the default fits the disk, so that rotating disks get an answer, too.
run: ## Build a quick version, then find the capacity of the storage under this directory
	@echo 'This builds iogauge (about two minutes with two processors), then writes a test file of 1 GiB into'
	@echo 'this directory, measures for 30 s how many random reads it sustains within a p99 of 5 ms (50 ms on a'
	@echo 'rotating disk), and removes the file. Ctrl-C ends it at any time.'
	$(CARGO) build --profile quick -p iogauge --no-default-features
	$(TARGET_DIR)/quick/iogauge find . --size=1g --rm

mpi: ## Build iogauge-mpi, which measures from several hosts at once, beside iogauge
	$(CARGO) build --release -p iogauge -p iogauge-hosts --features iogauge-hosts/mpi

test: ## Run every test; first install what the tests need, if possible
	scripts/install-test-deps.sh
	scripts/test.sh

test-hosts: ## Run the tests of several hosts with each MPI that is installed
	scripts/install-test-deps.sh
	scripts/test-hosts.sh

test-iris: ## Try the backend iris on a running instance: make test-iris IOGAUGE_TEST_IRIS=iris:IRIS/USER
	@test -n "$(IOGAUGE_TEST_IRIS)" || { echo 'usage: make test-iris IOGAUGE_TEST_IRIS=iris:INSTANCE/NAMESPACE'; exit 2; }
	IOGAUGE_TEST_IRIS="$(IOGAUGE_TEST_IRIS)" IOGAUGE_REQUIRE_ALL=1 $(CARGO) test -p iogauge-db --test conformance -- --test-threads=1

attack: ## Run the tests that try to make iogauge do harm; print how many were tried and how many held
	scripts/install-test-deps.sh
	scripts/attack.sh

fuzz: ## Fuzz every parser for a minute; FUZZ_SECONDS=600 for longer
	scripts/fuzz.sh

truth: ## Test the search on devices of known capacity, and trends on known series, 400 seeds each; print tables
	IOGAUGE_TRUTH_SEEDS=400 $(CARGO) test --release -p iogauge-lab --test truth -- --nocapture

bench: ## Run the microbenchmarks of the hot path
	$(CARGO) bench -p iogauge-benches

versus-fio: build ## Compare iogauge with fio on this machine
	benches/versus_fio.sh

versus-disk: build ## Compare iogauge with fio on this machine's disk, by engine, pattern and queue depth
	benches/versus_disk.sh

versus-sweep: build ## Compare the search with an exhaustive fio sweep on this machine
	benches/versus_sweep.sh

repeat: build ## Repeat a search on this machine's disk, and compare the answers with the predictions
	benches/repeat.sh

versus-suite: build ## Compare the suite oltp with fio running the same matrix on this machine
	benches/versus_suite.sh

versus-db: ## Compare iogauge db with the databases' own tools on this machine
	bash -c 'source scripts/rocksdb-env.sh; $(CARGO) build --release -p iogauge "$${rocksdb_features[@]}" && \
	$(CARGO) build --release -p iogauge-db --examples "$${rocksdb_features[@]}"'
	benches/versus_db.sh

report-bench: build ## Measure the time and size of a report of many runs
	benches/report.sh

audit: ## Check the dependencies: advisories, licences, bans and sources
	CARGO="$(CARGO)" scripts/audit.sh

fmt: ## Format the code
	$(CARGO) fmt --all

lint: ## Check formatting and run clippy, with warnings as errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

doc: ## Build the API documentation, with warnings as errors, and check the pages' links
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps --workspace
	scripts/check-links.sh

dist: ## Make the files of a release in target/dist: static binaries, tar balls, deb, rpm, SBOM, checksums
	scripts/dist.sh

dist-mpi: ## Make the deb of iogauge-mpi for each release of Debian in target/dist; needs root
	scripts/dist-mpi.sh

test-dist: ## Try the files in target/dist on clean systems; needs root
	scripts/test-dist.sh

site: build ## Build the site of the pages and a demonstration in target/site, and check it
	scripts/site.sh $(BIN) $(TARGET_DIR)/site
	scripts/check-site.sh $(TARGET_DIR)/site

check-workflows: ## Check the workflows of GitHub Actions
	scripts/check-workflows.sh

check-packaging: ## Check the files for containers and Kubernetes
	scripts/check-packaging.sh

man: build ## Write the manual pages to target/man
	mkdir -p $(TARGET_DIR)/man
	$(BIN) man $(TARGET_DIR)/man

completions: build ## Write the completions for bash, zsh and fish to target/completions
	mkdir -p $(TARGET_DIR)/completions
	$(BIN) completions bash >$(TARGET_DIR)/completions/iogauge
	$(BIN) completions zsh >$(TARGET_DIR)/completions/_iogauge
	$(BIN) completions fish >$(TARGET_DIR)/completions/iogauge.fish

# Needs no cargo if the binary is there, so that root can install what a user has built.
install: $(BIN) ## Install under PREFIX (/usr/local); honours DESTDIR
	install -Dm755 $(BIN) $(DESTDIR)$(PREFIX)/bin/iogauge
	install -d $(addprefix $(DESTDIR)$(PREFIX)/share/,man/man1 $(SHELL_DIRS))
	umask 022 && $(BIN) man $(DESTDIR)$(PREFIX)/share/man/man1
	umask 022 && $(BIN) completions bash >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/iogauge
	umask 022 && $(BIN) completions zsh >$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_iogauge
	umask 022 && $(BIN) completions fish >$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/iogauge.fish

uninstall: ## Remove what install has put under PREFIX
	rm -f $(DESTDIR)$(PREFIX)/bin/iogauge $(DESTDIR)$(PREFIX)/share/man/man1/iogauge.1 \
		$(DESTDIR)$(PREFIX)/share/man/man1/iogauge-*.1 \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/iogauge \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_iogauge \
		$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/iogauge.fish

$(BIN):
	$(CARGO) build --release -p iogauge

clean: ## Remove all build results
	$(CARGO) clean
