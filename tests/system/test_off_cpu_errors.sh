#!/bin/bash
# --off-cpu where a kernel does not let it: status 4 and one line that names what is missing; what cannot be
# meant is status 2; and who asks for no waits is not bothered.
# runs: beside others
source "$(dirname "$0")/lib.sh"

# usage_error WORD ARGUMENT…: the message holds WORD.
usage_error() {
    local word=$1
    shift
    expect_status 2 "$STACKWIDE" record "$@" -d 1 -o "$TMPDIR/x.folded"
    grep -qF -- "$word" "$TMPDIR/err" || fail "$*: no '$word' in: $(cat "$TMPDIR/err")"
}
usage_error --off-cpu --period 1ms
usage_error --off-cpu --metric wall
usage_error --off-cpu --min-block 1ms
for value in 0 9us 61m often; do
    usage_error "$value" --off-cpu --period "$value"
done
for value in 0 0.5us 61m rarely; do
    usage_error "$value" --off-cpu --min-block "$value"
done
usage_error cycles --off-cpu --metric cycles

need_recording
exec 9<"$STACKWIDE"

# refused WORD COMMAND…: with --off-cpu, but not without.
refused() {
    local word=$1
    shift
    expect_status 4 "$@" /proc/self/fd/9 record -a --user-stacks fp --off-cpu -o "$TMPDIR/x.folded" -- true
    [[ $(wc -l <"$TMPDIR/err") = 1 ]] || fail "more than one line: $(cat "$TMPDIR/err")"
    grep -qF -- "$word" "$TMPDIR/err" || fail "no '$word' in: $(cat "$TMPDIR/err")"
    grep -q 'without --off-cpu' "$TMPDIR/err" || fail "no way around: $(cat "$TMPDIR/err")"
    [[ ! -e $TMPDIR/x.folded ]] || fail "wrote an output"
    expect_status 0 "$@" /proc/self/fd/9 record -a --user-stacks fp -q -o "$TMPDIR/x.folded" -- \
        "$WORKLOADS/burn" 0.1
    rm "$TMPDIR/x.folded"
}

if unshare -m true 2>/dev/null; then
    # shellcheck disable=SC2016 # the inner shell's
    refused CONFIG_DEBUG_INFO_BTF=y unshare --mount bash -c 'mount -t tmpfs none /sys/kernel/btf && exec "$@"' -
fi

# No hook can be attached: of all commands of bpf() only that one is refused. Kernels that allow a kprobe
# need none.
if [[ -e /sys/bus/event_source/devices/kprobe || $(uname -m) != x86_64 ]]; then
    echo "this kernel allows kprobes: one without any hook is not to be had"
    exit 0
fi
cat >"$TMPDIR/forbid" <<'PYTHON'
# forbid COMMAND…: run it with a seccomp filter that refuses bpf(BPF_RAW_TRACEPOINT_OPEN).
import ctypes, os, struct, sys
code = [(0x20, 0, 0, 0), (0x15, 0, 3, 321), (0x20, 0, 0, 16), (0x15, 0, 1, 17), (0x06, 0, 0, 0x00050001),
        (0x06, 0, 0, 0x7fff0000)]
program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in code))
header = struct.pack("@HP", len(code), ctypes.addressof(program))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, header, 0, 0):
    sys.exit(99)
os.execv(sys.argv[1], sys.argv[1:])
PYTHON
refused finish_task_switch python3 "$TMPDIR/forbid"
expect_status 0 python3 "$TMPDIR/forbid" /proc/self/fd/9 doctor
grep -q '^missing  waits .*sched_exit_tp' "$TMPDIR/out" || fail "doctor does not say so: $(cat "$TMPDIR/out")"
expect_status 0 /proc/self/fd/9 doctor
grep -q '^ok       waits ' "$TMPDIR/out" || fail "doctor does not say so: $(cat "$TMPDIR/out")"
