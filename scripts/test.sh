#!/usr/bin/env bash
# Runs every test and ends with the line "N passed, N failed".
#
# Arguments are passed to cargo test: scripts/test.sh -p iogauge-model histogram
# Tests that try to make iogauge do harm (scripts/attacks.txt) are also counted separately: "attacks: N tried, N held".
# Skipped tests are shown with their reason. The output of other passing tests is not shown.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/rocksdb-env.sh
source scripts/mpi-env.sh

# Reduces the output of passing tests to the lines with SKIPPED, and counts results.
show_and_count() {
    awk -v attacks="$(sed '/^#/d; s/.* //' scripts/attacks.txt | tr '\n' ' ')" '
        BEGIN { split(attacks, list, " "); for (i in list) is_attack[list[i]] = 1 }
        /^successes:$/ { quiet = 1 }
        /^(failures:|test result:)/ { quiet = 0 }
        /^SKIPPED / { skipped++; print; fflush(); next }
        # The test file that runs: tests/NAME.rs or tests/NAME/main.rs.
        /^ *Running / { name = $2; sub("^tests/", "", name); sub("(/main)?[.]rs$", "", name) }
        # A test of many cases counts them itself.
        / tried, [0-9]+ held$/ { tried += $2; held += $4; print; fflush(); next }
        /^test result:/ { passed += $4; failed += $6; ignored += $8 }
        /^test result:/ && name in is_attack { tried += $4 + $6; held += $4 }
        # A test file that does not compile, or a test that kills its process, has no result line.
        !quiet && /^error(\[E[0-9]+\])?:/ { broken = 1 }
        !quiet { print; fflush() }
        END {
            if (broken && failed == 0) failed = 1
            if (skipped) printf "%d skipped, counted as passed\n", skipped
            if (ignored) printf "%d ignored\n", ignored
            if (tried) printf "attacks: %d tried, %d held\n", tried, held
            printf "%d passed, %d failed\n", passed, failed
        }'
}

# Tests the benchmark scripts. Their output has libtest's form, so that one rule counts both.
script_tests() {
    if ! command -v python3 >/dev/null; then
        echo 'SKIPPED benches/script_tests.py: python3 is not installed'
        [[ ${IOGAUGE_REQUIRE_ALL:-} != 1 ]]
        return
    fi
    echo '     Running benches/script_tests.py'
    python3 benches/script_tests.py
}

all() {
    local status=0
    if (($# == 0)); then
        script_tests || status=$?
        if ((${#rocksdb_features[@]} == 0)); then
            echo 'SKIPPED crates/db/tests/rocksdb: the package librocksdb-dev is not installed'
            [[ ${IOGAUGE_REQUIRE_ALL:-} != 1 ]] || status=1
        fi
        if ((${#mpi_features[@]} == 0)); then
            echo 'SKIPPED crates/hosts/tests/mpi: neither Open MPI nor MPICH is installed with libclang'
            [[ ${IOGAUGE_REQUIRE_ALL:-} != 1 ]] || status=1
        fi
        cargo test --no-fail-fast --workspace "${rocksdb_features[@]}" "${mpi_features[@]}" -- --show-output || status=$?
        # The tests above have used the first MPI. These are where another one behaves differently.
        if ((${#mpi_compilers[@]} > 1)); then
            scripts/test-hosts.sh "${mpi_compilers[1]}" shared_device_is_found ends:: host_ends host_is_not_lost \
                keeps_the_result refusal_on passwords_reach shared_file_has each_host_verifies one_machine || status=$?
        fi
    else
        cargo test --no-fail-fast "$@" -- --show-output || status=$?
    fi
    return "$status"
}

all "$@" </dev/null 2>&1 | show_and_count
