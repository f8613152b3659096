#!/bin/bash
# An interpreter's file is replaced while it runs, by a program that claims to be another version of it: each process has the frames
# of what it runs.
# runs: beside others
. "$(dirname "$0")/../lib.sh"
need_recording
python=/usr/bin/python3
[[ -x $python ]] || skip "needs python3, which is not installed"
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
[[ $version = 3.8 || $version = 3.9 || $version = 3.1[0-3] ]] || skip "needs CPython 3.8 to 3.13, not $version"

cp "$(readlink -f "$python")" "$TMPDIR/interpreter"
cat >"$TMPDIR/both.sh" <<'SCRIPT'
"$TMPDIR/interpreter" "$1" 1.5 >/dev/null &
until [[ $(readlink "/proc/$!/exe") = "$TMPDIR/interpreter" ]]; do :; done
cp "$2" "$TMPDIR/other"
mv "$TMPDIR/other" "$TMPDIR/interpreter"
"$TMPDIR/interpreter" long 1
wait
SCRIPT
export TMPDIR
record -F 499 --root pid -o "$TMPDIR/both.folded" --stats "$TMPDIR/both.json" -- \
    bash "$TMPDIR/both.sh" "$(dirname "$0")/../../workloads/python_chains.py" "$WORKLOADS/hostile/fake_python"
expect_account_adds_up "$TMPDIR/both.json"
ours=$(folded_match "$TMPDIR/both.folded" ';run;.*;use_time')
evil=$(folded_match "$TMPDIR/both.folded" ';[^;]*evil')
both=$(folded_match "$TMPDIR/both.folded" 'use_time.*evil|evil.*use_time')
echo "$ours of the interpreter, $evil of the other, $both of both"
((ours && evil && !both)) || fail "$(cat "$TMPDIR/both.folded" "$TMPDIR/record.err")"
