#!/bin/bash
# Stacks of a program without section headers are whole: its segments lead to what describes them.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording
need_command readelf

# strip_sections FILE: say that there are none, and overwrite what described them.
strip_sections() {
    python3 - "$1" <<'PYTHON'
import struct, sys
with open(sys.argv[1], "r+b") as file:
    header = bytearray(file.read(64))
    start, = struct.unpack_from("<Q", header, 40)
    size, count = struct.unpack_from("<HH", header, 58)
    file.seek(start)
    file.write(bytes(size * count))
    struct.pack_into("<Q", header, 40, 0)
    struct.pack_into("<HHH", header, 58, 0, 0, 0)
    file.seek(0)
    file.write(header)
PYTHON
}

cp "$WORKLOADS/nofp_deep" "$TMPDIR/bare"
strip_sections "$TMPDIR/bare"
! readelf -SW "$TMPDIR/bare" 2>/dev/null | has_line eh_frame || fail "the sections are still there"
expect_deep bare "$TMPDIR/bare" 2
# Without symbols functions are named by where they begin.
expect_frame "$TMPDIR/bare.folded" "$(grep -oE 'bare\+0x[0-9a-f]+' "$TMPDIR/bare.folded" | head -n 1)" 50
