#!/bin/bash
# With 160 binaries mapped, and all their tables built anew, we take no more than 40 MB. What else runs on
# the machine has tables of its own, and is not recorded.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
need_command python3
! grep -q __asan_init "$STACKWIDE" || skip "the sanitizer's own memory would be measured too"

cat >"$TMPDIR/map.py" <<'PYTHON'
import glob, mmap, os, sys, time
kept = []
for path in sorted(glob.glob("/usr/bin/*")):
    if len(kept) == 160 or os.path.islink(path) or not 20000 < os.path.getsize(path) < 8 << 20:
        continue
    with open(path, "rb") as file:
        if file.read(4) == b"\x7fELF":
            kept.append(mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE,
                                  mmap.PROT_READ | mmap.PROT_EXEC))
print(len(kept), flush=True)
time.sleep(60)
PYTHON
start python3 "$TMPDIR/map.py" >"$TMPDIR/mapped"
mapper=$PID
wait_until test -s "$TMPDIR/mapped"
if (($(cat "$TMPDIR/mapped") < 160)); then
    skip "only $(cat "$TMPDIR/mapped") programs in /usr/bin"
fi
start "$WORKLOADS/deep" 60

start_recording -p "$mapper,$PID" --no-cache -o "$TMPDIR/out.folded" --stats "$TMPDIR/stats.json"
has_all_tables() { (($(grep -c 'the unwind table of .* is ready' "$TMPDIR/record.err") >= 160)); }
wait_until has_all_tables
stop_recording
objfiles=$(stats_get "$TMPDIR/stats.json" unwind_tables.objfiles)
((objfiles >= 160)) || fail "only $objfiles tables"
megabytes=$(($(stats_get "$TMPDIR/stats.json" profiler.recording_rss_bytes) >> 20))
rows=$(stats_get "$TMPDIR/stats.json" unwind_tables.rows)
echo "$megabytes MB with $objfiles tables of $rows rows"
((megabytes <= 40)) || fail "$megabytes MB while recording, expected at most 40"
