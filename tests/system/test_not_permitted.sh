#!/bin/bash
# Without the privileges: status 4 and one line that names what is missing.
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
