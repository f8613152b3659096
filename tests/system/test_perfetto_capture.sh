#!/bin/bash
# --zones takes binary captures, too: their zones lie on the tracks of the process that wrote them,
# at the times that samples have. A program's name may be any bytes.
# runs: beside others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perfetto.sh"
need_recording
need_trace_processor
[[ -x /usr/bin/python3 ]] || skip "needs /usr/bin/python3 (package python3)"

# What the library writes: a capture of a zone in which the program keeps busy.
cat >"$TMPDIR/program.py" <<'PYTHON'
import ctypes, struct, sys, threading, time

ctypes.CDLL(None).prctl(15, b"\xff\xfe;busy", 0, 0, 0)
tid, pointer = threading.get_native_id(), 0x7f0000008000

def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)

def string(id, text):
    return struct.pack("<BQH", 17, id, len(text)) + text.encode()

begin = now()
while now() - begin < 10**9 or time.process_time() < 0.5:
    sum(range(1000))
with open(sys.argv[1], "wb") as capture:
    capture.write(b"\x10PROF\x01\0\0\0"[:9])
    capture.write(string(1, "busy") + string(2, "main") + string(3, "program.py"))
    capture.write(struct.pack("<BQQQQI", 18, 9, 1, 2, 3, 12))
    capture.write(struct.pack("<BQQH", 19, 0x7f0000000000, 0x7f0000010000, 5) + b"Fiber")
    capture.write(struct.pack("<BQQQQ", 21, pointer, tid, begin, 9))
    capture.write(struct.pack("<BQQ", 22, pointer, now()))
PYTHON

record -F 499 --zones "$TMPDIR/capture.bin-trace" -o "$TMPDIR/x.pftrace" --stats "$TMPDIR/x.json" -- \
    /usr/bin/python3 "$TMPDIR/program.py" "$TMPDIR/capture.bin-trace"
expect_rows "select track, parent_track, name, dur between 1000000000 and 60000000000 from $SLICES
    where name = 'busy'" <<'END'
zones|Fiber|busy|1
END
# One process has both: the zone and the samples that were taken meanwhile.
expect_rows "select count(*) > 20, sum(process.name = replace(process.name, 'busy', '')) from
    $SLICES z join perf_sample ps on z.ts <= ps.ts and ps.ts <= z.ts + z.dur
    join thread using(utid) join process using(upid) where z.name = 'busy'" <<'END'
1|0
END
expect_rows "select count(distinct upid) from thread where utid in (select utid from perf_sample)
    and name like '%busy'" <<'END'
1
END
expect_rows "select hex(name) from thread where name like '%busy' group by 1" <<'END'
EFBFBDEFBFBD3A62757379
END
check_trace "$TMPDIR/x.pftrace"
