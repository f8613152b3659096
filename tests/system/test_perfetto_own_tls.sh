#!/bin/bash
# The stack of a thread that no C library made is not taken for one that a C library made, whose end its thread pointer tells.
# runs: beside others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perfetto.sh"
need_recording
need_trace_processor

record -F 997 -o "$TMPDIR/x.pftrace" -- "$WORKLOADS/own_tls" >"$TMPDIR/memory"
read -r begin end <"$TMPDIR/memory"
# Its region is no thread's, and lies where the stack does.
expect_rows "select s.track like 'stack 0x%', count(*) > 0 from $SLICES s
    where s.parent_track = 'Stacks' and s.name like 'without_libc [%' group by 1" <<'END'
1|1
END
expect_rows "select max(value) between 1 and 8192 from counter c join track t on t.id = c.track_id
    join track region on region.id = t.parent_id where t.name = 'fill' and region.name like 'stack 0x%'" <<'END'
1
END
check_trace "$TMPDIR/x.pftrace"
echo "the stack ends at $end of the mapping at $begin"
