#!/bin/bash
# --wakers --futexes: which lock a thread has waited for, who released it, and where.
# runs: beside others
source "$(dirname "$0")/lib.sh"

expect_status 2 "$STACKWIDE" record --off-cpu --futexes -d 1 -o "$TMPDIR/x.folded"
grep -qF -- --wakers "$TMPDIR/err" || fail "no '--wakers' in: $(cat "$TMPDIR/err")"

need_recording
[[ $(uname -m) = x86_64 ]] || skip "futexes are known on x86-64 only"

# record_lock NAME OPTION…
record_lock() {
    record --off-cpu --wakers --period 1ms --buffer-size 64M -o "$TMPDIR/$1.offwake.folded" -o "$TMPDIR/$1.pb.gz" \
        "${@:2}" -- "$WORKLOADS/nofp_lock" 1 >"$TMPDIR/$1.address"
}

record_lock futexes --futexes
file=$TMPDIR/futexes.offwake.folded
read -r address _ <"$TMPDIR/futexes.address"
all=$(folded_match "$file" ';take_lock;.*;\[blocked\];')
released=$(folded_match "$file" ";take_lock;.*;\[blocked\];\[futex $address\];--;.*futex_wake_\[k\];.*;flush_log;.*;worker-3 [0-9]+\$")
echo "blocked in take_lock: $all us, for $address, released in flush_log: $released us"
((all > 0)) || fail "nothing is blocked in take_lock"
expect_between "waits for the lock that flush_log has released, in percent" $((100 * released / all)) 95 100
wrong=$(folded_match "$file" 'nanosleep.*\[futex')
((wrong == 0)) || fail "who sleeps waits for a futex: $(grep -m 1 'nanosleep.*\[futex' "$file")"

# The profile answers for the lock.
"$STACKWIDE" report "$TMPDIR/futexes.pb.gz" --wakers-of "[futex $address]" >"$TMPDIR/report"
for released_by in worker-3 flush_log; do
    grep -q " $released_by\$" "$TMPDIR/report" || fail "no $released_by in: $(cat "$TMPDIR/report")"
done

# Recordings without are as they were, and those with can be compared with others by common names.
record_lock plain
! grep -m 1 -F '[futex' "$TMPDIR/plain.offwake.folded" || fail "an address that was not asked for"
"$STACKWIDE" convert --common-names "$TMPDIR/futexes.pb.gz" -o "$TMPDIR/common.offwake.folded"
grep -qF ';[blocked];[futex];--;' "$TMPDIR/common.offwake.folded" || fail "no futex in $(head -n 3 "$TMPDIR/common.offwake.folded")"
! grep -m 1 -F '[futex 0x' "$TMPDIR/common.offwake.folded" || fail "an address is in the common names"
