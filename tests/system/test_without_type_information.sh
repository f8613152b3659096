#!/bin/bash
# A kernel without type information (BTF): whole stacks are refused with the cures named, and what
# frame pointers show is recorded, of a command with its children as well as of the machine.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
need_recording
need_command unshare
unshare -m true 2>/dev/null || skip "mount namespaces are not permitted here"

# Hidden from this test only; the kernel's own is not asked for either then.
exec 9<"$STACKWIDE"
mkdir -p "$TMPDIR/bin"
cat >"$TMPDIR/bin/stackwide" <<'END'
#!/bin/bash
exec unshare --mount bash -c '
    mount -t tmpfs none /sys/kernel/btf
    [[ -z ${TRACEFS:-} && -e /sys/kernel/tracing/events ]] ||
        mount -t ${TRACEFS:-tracefs} none /sys/kernel/tracing
    mount -t tmpfs none /sys/kernel/debug
    exec "$@"' - /proc/self/fd/9 "$@"
END
chmod +x "$TMPDIR/bin/stackwide"
STACKWIDE=$TMPDIR/bin/stackwide

expect_status 4 "$STACKWIDE" record -o "$TMPDIR/x.folded" -- true
grep -q 'CONFIG_DEBUG_INFO_BTF=y' "$TMPDIR/err" || fail "no cure: $(cat "$TMPDIR/err")"
grep -q -- '--user-stacks fp' "$TMPDIR/err" || fail "no way around: $(cat "$TMPDIR/err")"
[[ $(wc -l <"$TMPDIR/err") = 1 ]] || fail "more than one line: $(cat "$TMPDIR/err")"
expect_status 4 "$STACKWIDE" record --user-stacks fp --sched -o "$TMPDIR/x.pftrace" -- true
grep -q -- 'without --sched' "$TMPDIR/err" || fail "no way around: $(cat "$TMPDIR/err")"

expect_status 4 env TRACEFS=tmpfs "$STACKWIDE" record --user-stacks fp -o "$TMPDIR/x.folded" -- true
grep -q 'mount -t tracefs' "$TMPDIR/err" || fail "no cure: $(cat "$TMPDIR/err")"

chain=main
for level in $(seq 0 65); do
    chain="$chain;level_$level"
done
record --user-stacks fp -F 499 -o "$TMPDIR/deep.folded" -- "$WORKLOADS/deep" 1
expect_frame "$TMPDIR/deep.folded" "$chain" 30
expect_between "share of the whole chain" "$(folded_share "$TMPDIR/deep.folded" "$chain" main)" 90 100

# Its children, and theirs; nobody else.
cp "$WORKLOADS/burn" "$TMPDIR/burn_typeless"
start "$TMPDIR/burn_typeless" 600
program=$PID
record --user-stacks fp -F 499 --root comm -o "$TMPDIR/tree.folded" -- \
    bash -c '(bash -c "$1 1; true"); exec "$2" 1' - "$WORKLOADS/deep" "$WORKLOADS/depth"
for name in deep depth; do
    (($(folded_count "$TMPDIR/tree.folded" "$name") > 20)) || fail "few samples of $name"
done
expect_between "samples of a program beside" "$(folded_count "$TMPDIR/tree.folded" burn_60)" 0 0

# Attached to a process, and to the whole machine.
record_cpu_time 1000 "$program" --user-stacks fp -F 499 -p "$program" -o "$TMPDIR/one.folded"
expect_share "$TMPDIR/one.folded" burn_60 burn_typeless 60 499
record_cpu_time 500 "$program" --user-stacks fp -F 499 -a --stats "$TMPDIR/all.json" -o "$TMPDIR/all.folded"
expect_frame "$TMPDIR/all.folded" burn_typeless 30
expect_account_adds_up "$TMPDIR/all.json"
