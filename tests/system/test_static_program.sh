#!/bin/bash
# The statically linked program runs where there is no other file: no C library, no libraries, no /etc. It records a program there
# with whole stacks, and shows it. Names of users are found in /etc/passwd alone.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
need_command make
need_command unshare

# Its objects are those of the program.
O=$(dirname "$STACKWIDE")
make -s -C "$REPO" O="$O" static >"$TMPDIR/made" 2>&1 || {
    ! grep -q 'cannot find -l' "$TMPDIR/made" || skip "static libraries are missing: $(grep -m 1 -o 'cannot find -l.*' "$TMPDIR/made")"
    cat "$TMPDIR/made" && fail "it is not linked"
}
program=$O/stackwide-static
! readelf -lW "$program" | grep -q INTERP || fail "it needs a loader"
(($(stat -c %s "$program") <= 12 << 20)) || fail "it has $(stat -c %s "$program") bytes"
[[ $("$program" --version) = "$("$STACKWIDE" --version)" ]] || fail "it is another version"

bare=$TMPDIR/bare
mkdir -p "$bare"/{proc,sys,dev,tmp,out}
cp "$program" "$bare/stackwide"
load=$WORKLOADS/nofp_deep_static
[[ -x $load ]] || skip "no static libc here"
cp "$load" "$bare/load"
# shellcheck disable=SC2016 # of the inner shell
in_bare() {
    unshare --mount --propagation private bash -c '
        root=$1 && shift && mount --rbind /proc "$root/proc" && mount --rbind /sys "$root/sys" && mount --rbind /dev "$root/dev" &&
            exec chroot "$root" "$@"' - "$bare" "$@"
}
in_bare /stackwide record -F 499 -o /out/x.folded -o /out/x.html --stats /out/x.json -- /load 1 2>"$TMPDIR/record.err" >/dev/null ||
    fail "it does not record: $(cat "$TMPDIR/record.err")"
expect_account_adds_up "$bare/out/x.json"
expect_frame "$bare/out/x.folded" main 50
in_bare /stackwide report /out/x.html >"$TMPDIR/report" || fail "it does not read its own page"
grep -q main "$TMPDIR/report" || fail "the report lacks main: $(cat "$TMPDIR/report")"

# Without names of users it says so; with them it knows them.
for name in nobody root; do
    status=0
    in_bare /stackwide record -d 0.1 --symbolize-user "$name" -o /out/u.folded 2>"$TMPDIR/err" || status=$?
    ((status == 2)) || fail "--symbolize-user $name ended with status $status"
done
mkdir "$bare/etc"
printf 'root:x:0:0:::\nnobody:x:65534:65534:::\n' >"$bare/etc/passwd"
in_bare /stackwide record -d 0.1 --symbolize-user nobody -o /out/u.folded 2>"$TMPDIR/err" || fail "nobody is unknown: $(cat "$TMPDIR/err")"
