#!/bin/bash
# Inlined calls from debug information in its rarer forms: parts that dwz moved to a file of common
# parts, sections compressed by zstd. What is not read is said: .dwo files, missing files of dwz.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
need_command cc
need_command python3
cd "$TMPDIR"

cat >program.c <<'END_OF_SOURCE'
#include "spin.h"

static inline __attribute__((always_inline)) void inlined_spin(void)
{
	spin_once();
}

__attribute__((noinline)) void outer(void)
{
	inlined_spin();
}

int main(void)
{
	uint64_t end = read_cpu_ns() + NS_PER_SECOND;

	while (read_cpu_ns() < end)
		outer();
	return 0;
}
END_OF_SOURCE
cc -std=gnu17 -O2 -g -D_GNU_SOURCE -I"$REPO/tests/workloads" -o whole program.c

# expect_inlined PROGRAM
expect_inlined() {
    record -F 499 -o "$1.folded" -- "./$1"
    expect_between "share of the inlined calls in $1" "$(folded_share "$1.folded" 'main;outer;inlined_spin_[i];spin_once_[i]')" 85 100
}
expect_inlined whole
grep -q 'inlined calls are missing' "$TMPDIR/record.err" && fail "calls are said to be missing"

cc -std=gnu17 -O2 -g -gsplit-dwarf -D_GNU_SOURCE -I"$REPO/tests/workloads" -o split program.c
record -F 499 -o split.folded -- ./split
expect_between "share of outer in split" "$(folded_share split.folded 'main;outer')" 85 100
grep -q "$TMPDIR/split is in .dwo files" "$TMPDIR/record.err" || fail "nothing is said of .dwo files"

if command -v dwz >/dev/null; then
    cp whole one
    cp whole two
    dwz -m common.debug -h one two
    readelf -S one | has_line gnu_debugaltlink || fail "dwz found nothing in common"
    expect_inlined one
    rm common.debug
    record -F 499 -o missing.folded -- ./one
    grep -q 'is in a missing dwz file' "$TMPDIR/record.err" || fail "nothing is said of dwz's file"
else
    echo "no dwz here: its files are left out"
fi

# What objcopy of binutils 2.40 and newer writes for --compress-debug-sections=zstd, where it can.
if command -v zstd >/dev/null; then
    cat >compress.py <<'END_OF_SCRIPT'
import struct, subprocess, sys
data = bytearray(open(sys.argv[1], "rb").read())
offset, = struct.unpack_from("<Q", data, 40)
entry_size, number, names_index = struct.unpack_from("<HHH", data, 58)
headers = [list(struct.unpack_from("<IIQQQQIIQQ", data, offset + i * entry_size)) for i in range(number)]
names = headers[names_index][4]
for i, header in enumerate(headers):
    name = data[names + header[0]:data.index(b"\0", names + header[0])].decode()
    if not name.startswith(".debug_"):
        continue
    plain = bytes(data[header[4]:header[4] + header[5]])
    data[header[4]:header[4] + header[5]] = bytes(len(plain))
    packed = struct.pack("<IIQQ", 2, 0, len(plain), header[8] or 1)
    packed += subprocess.run(["zstd", "-q", "-c"], input=plain, stdout=subprocess.PIPE, check=True).stdout
    header[2] |= 0x800
    header[4], header[5], header[8] = len(data), len(packed), 8
    data += packed + bytes(-len(packed) % 8)
    struct.pack_into("<IIQQQQIIQQ", data, offset + i * entry_size, *header)
open(sys.argv[2], "wb").write(data)
END_OF_SCRIPT
    python3 compress.py whole packed
    chmod +x packed
    readelf -t packed | has_line -i 'zstd' || echo "readelf here does not know zstd"
    expect_inlined packed
else
    echo "no zstd here: compressed sections are left out"
fi
