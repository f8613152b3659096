#!/bin/bash
# Functions of PHP are in the stacks of the processes that run it, with their lines: those that called each other, as the program
# itself says; from the first samples on, and with each version that is here.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
phps=(/usr/bin/php[78].[0-9])
IFS=: read -ra more_phps <<<"${STACKWIDE_TEST_PHPS:-}"
phps+=(${more_phps[@]+"${more_phps[@]}"})

num_phps=0
for php in "${phps[@]}"; do
    [[ -x $php ]] || continue
    version=$("$php" -r 'echo PHP_ZTS ? "" : PHP_MAJOR_VERSION . "." . PHP_MINOR_VERSION;')
    [[ $version = 7.4 || $version = 8.[0-5] ]] || continue
    num_phps=$((num_phps + 1)) last_php=$php last_version=$version
    record -F 1999 -o "$TMPDIR/$version.speedscope.json" -o "$TMPDIR/$version.folded" --stats "$TMPDIR/$version.json" -- \
        "$php" "$(dirname "$0")/../workloads/php_chains.php" 0.75 >"$TMPDIR/chains"
    expect_account_adds_up "$TMPDIR/$version.json"
    python3 "$(dirname "$0")/script_chains.py" "$TMPDIR/$version.speedscope.json" "$TMPDIR/$version.json" "$TMPDIR/chains" php \
        'Chains\use_time' || fail "PHP $version: $(cat "$TMPDIR/record.err")"
    grep -q "^  PHP  *[0-9].* with frames of PHP ${version//./\\.} " "$TMPDIR/record.err" ||
        fail "the summary says nothing of PHP $version: $(cat "$TMPDIR/record.err")"
done
((num_phps)) || skip "needs php (package php-cli), which is not installed"

# What the interpreter does for it: its own function is in the place of the frames that it evaluates, or beside them.
record -F 999 --runtime-frames native -o "$TMPDIR/native.folded" -- "$last_php" "$(dirname "$0")/../workloads/php_chains.php" 0.3 >/dev/null
expect_between "frames of PHP that are not asked for" "$(folded_match "$TMPDIR/native.folded" 'use_time')" 0 0
record -F 999 --runtime-frames all -o "$TMPDIR/all.folded" -- "$last_php" "$(dirname "$0")/../workloads/php_chains.php" 0.3 >/dev/null
(($(folded_match "$TMPDIR/all.folded" ';execute_ex;\{main\};'))) || fail "no call of the interpreter beside its frames"

# Whose frames a recording would have.
start "$last_php" -r 'touch($argv[1]); sleep(100);' "$TMPDIR/runs"
wait_until test -e "$TMPDIR/runs"
"$STACKWIDE" doctor >"$TMPDIR/doctor" || true
grep -q "^ok  *interpreters  *PHP ${last_version//./\\.} in [0-9]* process.*[0-9] php" "$TMPDIR/doctor" ||
    fail "the doctor does not see PHP $last_version: $(cat "$TMPDIR/doctor")"
