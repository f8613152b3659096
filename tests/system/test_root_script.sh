#!/bin/bash
# --root script: the first frame says what an interpreter runs: of a process that lives for 100 ms of CPU
# time, of modules and code of the command line, of one that was there before the recording; in all outputs
# that know it. Scripts that the kernel starts by their first line keep their names, and other processes theirs.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
need_recording
need_command python3
# The interpreter itself: what is called so may be a script that starts it.
mkdir "$TMPDIR/bin" "$TMPDIR/a b"
ln -s "$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))')" "$TMPDIR/bin/python3"
python=$TMPDIR/bin/python3

# Each burns so much CPU time, however long that takes here.
burn='import sys, time
while time.process_time() < float(sys.argv[1]):
    pass'
echo "$burn" >"$TMPDIR/a b/short.py"
echo "$burn" >"$TMPDIR/burner.py"
{
    echo "#!$python"
    echo "$burn"
} >"$TMPDIR/started"
chmod +x "$TMPDIR/started"
cat >"$TMPDIR/run.sh" <<END
for i in 1 2 3 4 5; do
    "$python" -W ignore -u "$TMPDIR/a b/short.py" 0.1
done
(cd "$TMPDIR" && "$python" -m burner 0.3)
"$python" -c 'import time
while time.process_time() < 0.3:
    pass'
"$TMPDIR/started" 0.3
sh -c 'i=0; while [ \$i -lt 300000 ]; do i=\$((i + 1)); done'
i=0
while ((i < 100000)); do i=\$((i + 1)); done
END

record -F 999 --root script -o "$TMPDIR/out.folded" -o "$TMPDIR/out.svg" -o "$TMPDIR/out.html" \
    -o "$TMPDIR/out.pftrace" -o "$TMPDIR/out.pb.gz" -o "$TMPDIR/out.json" -- bash "$TMPDIR/run.sh"

expect_roots() {
    local root roots
    roots=$(cut -d';' -f1 "$1" | sed -E 's/ [0-9]+$//' | sort -u)
    for root in 'python3 (short.py)' 'python3 (-m burner)' 'python3 (-c)' started 'sh (-c)' 'bash (run.sh)'; do
        has_line -Fx "$root" <<<"$roots" || fail "$1 has no '$root', but: $roots"
    done
    ! has_line -Fx 'python3' <<<"$roots" || fail "$1 has a process without its script: $roots"
}
expect_roots "$TMPDIR/out.folded"
# Five times 100 ms, of 1 ms a sample: most of it is there, also where the machine is late with ticks.
expect_frame "$TMPDIR/out.folded" 'python3 (short.py)' 1

for name in svg html pb.gz json; do
    "$STACKWIDE" convert -q "$TMPDIR/out.$name" --root script -o "$TMPDIR/$name.folded"
    expect_roots "$TMPDIR/$name.folded"
done
# Perfetto's command lines say it, too; words with blanks are taken apart there.
"$STACKWIDE" convert -q "$TMPDIR/out.pftrace" --root script -o "$TMPDIR/pftrace.folded"
cut -d';' -f1 "$TMPDIR/pftrace.folded" | has_line -F 'python3 (-m burner)' ||
    fail "the trace has no 'python3 (-m burner)'"

# Folded text knows names of threads, and says so once; what is in them stays.
"$STACKWIDE" convert "$TMPDIR/out.folded" --root script -o "$TMPDIR/again.folded" 2>"$TMPDIR/err"
[[ $(grep -c 'the input has no command lines' "$TMPDIR/err") = 1 ]] || fail "no warning: $(<"$TMPDIR/err")"
cmp "$TMPDIR/out.folded" "$TMPDIR/again.folded" || fail "folded text has changed"

# One that is there already, and that goes on without a name of its own.
start "$python" "$TMPDIR/burner.py" 600
program=$PID
wait_until runs_program "$program" python3
record_cpu_time 300 "$program" -F 199 -p "$program" --root script -o "$TMPDIR/before.folded"
[[ $(cut -d';' -f1 "$TMPDIR/before.folded" | sort -u) = 'python3 (burner.py)' ]] ||
    fail "a process that was there: $(cut -d';' -f1 "$TMPDIR/before.folded" | sort -u)"
# The default is as it was.
record_cpu_time 300 "$program" -F 199 -p "$program" -o "$TMPDIR/before.folded"
[[ $(cut -d';' -f1 "$TMPDIR/before.folded" | sort -u) = python3 ]] || fail "--root script is the default"
