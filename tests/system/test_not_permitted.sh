#!/bin/bash
# Without the privileges: status 4 and one line that names what is missing.
# runs: beside others
source "$(dirname "$0")/lib.sh"
[[ $(id -u) = 0 ]] || skip "needs root, to give its privileges up"
need_command setpriv

# By descriptor, because a build folder may lie where nobody can go.
exec 9<"$STACKWIDE"

# refused SETPRIV-ARGUMENT…
refused() {
    expect_status 4 setpriv "$@" /proc/self/fd/9 record -d 1 -o - --to folded
    [[ $(wc -l <"$TMPDIR/err") = 1 ]] || fail "more than one line: $(cat "$TMPDIR/err")"
    grep -Eq 'root|CAP_' "$TMPDIR/err" || fail "names neither root nor a capability: $(cat "$TMPDIR/err")"
    [[ ! -s $TMPDIR/out ]] || fail "wrote an output"
}

refused --reuid 65534 --regid 65534 --clear-groups
refused --bounding-set -all --inh-caps -all

# refused_as WORD COMMAND…: the reason names the word.
refused_as() {
    local word=$1
    shift
    expect_status 4 "$@" /proc/self/fd/9 record -d 1 -o - --to folded
    grep -q "$word" "$TMPDIR/err" || fail "does not name $word: $(cat "$TMPDIR/err")"
}

# As root, in the kind of walls that containers have.
need_recording
if unshare --user --map-root-user true 2>/dev/null; then
    refused_as "user namespace" unshare --user --map-root-user
fi
cat >"$TMPDIR/forbid" <<'PYTHON'
# forbid NUMBER COMMAND…: run it with a seccomp filter that refuses one system call.
import ctypes, os, struct, sys
code = [(0x20, 0, 0, 0), (0x15, 0, 1, int(sys.argv[1])), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in code))
header = struct.pack("@HP", len(code), ctypes.addressof(program))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, header, 0, 0):
    sys.exit(99)
os.execv(sys.argv[2], sys.argv[2:])
PYTHON
if [[ $(uname -m) = x86_64 ]] && python3 "$TMPDIR/forbid" 999 /bin/true; then
    refused_as "seccomp filter forbids" python3 "$TMPDIR/forbid" 321
    refused_as "seccomp filter forbids" python3 "$TMPDIR/forbid" 298
fi
