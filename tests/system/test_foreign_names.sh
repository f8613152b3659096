#!/bin/bash
# Files of other tools that know code by its address in the ELF file only, a Perfetto trace and a
# profile as samply writes it: our own rooms name it, by the program at its path, or below --symbols;
# another program is not taken for it.
# runs: beside others
. "$(dirname "$0")/lib.sh"
need_command python3
need_command cc
need_command nm
need_command readelf
cd "$TMPDIR"

# Not to be loaded anywhere, so that its ELF addresses are no file offsets.
cat >program.c <<'END'
static inline __attribute__((always_inline)) int inner(int n) { volatile int i = n; return i * i; }
__attribute__((noinline)) int work(int n) { return inner(n) + 1; }
int main(int argc, char **argv) { (void)argv; return work(argc); }
END
cc -g -O1 -no-pie -Wl,--build-id=sha1 -o program program.c 2>errors || skip "cc makes no such program: $(head -1 errors)"
id=$(readelf -n program | sed -n 's/.*Build ID: *//p')
address=$(nm program | sed -n 's/ T work$//p')
caller=$(nm program | sed -n 's/ T main$//p')
[[ $id && $address && $caller ]] || skip "cc makes no program with a build ID"

# make_trace FILE: one sample of `main` and of it calling `work`.
make_trace() {
    python3 - "$1" "$TMPDIR/program" "$id" "$caller" "$address" <<'END'
import sys
path, program, build_id, addresses = sys.argv[1], sys.argv[2], bytes.fromhex(sys.argv[3]), sys.argv[4:]

def varint(value):
    out = b""
    while value > 0x7f:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])

def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value

parts = program.lstrip("/").split("/")
data = field(16, field(1, 1) + field(2, build_id))
mapping = field(1, 1) + field(2, 1) + field(4, 0x400000) + field(5, 0x500000)
for number, part in enumerate(parts, 1):
    data += field(17, field(1, number) + field(2, part.encode()))
    mapping += field(7, number)
data += field(19, mapping)
for number, address in enumerate(addresses, 1):
    data += field(6, field(1, number) + field(3, 1) + field(4, int(address, 16) + 4))
data += field(7, field(1, 1) + field(2, 1))
data += field(7, field(1, 2) + field(2, 1) + field(2, 2))
packet = lambda *fields: field(1, b"".join(fields) + field(10, 1))
trace = packet(field(8, 1), field(13, 1), field(12, data))
for stack, number in ((1, 1), (2, 2)):
    for _ in range(number):
        trace += packet(field(8, 2), field(13, 2),
                        field(66, field(2, 5) + field(3, 5) + field(4, stack)))
open(path, "wb").write(trace)
END
}

# make_profile FILE: the same as samply writes it, whose addresses count from the file's first byte.
make_profile() {
    python3 - "$1" "$TMPDIR/program" "$id" "$caller" "$address" <<'END'
import json, sys
path, program, build_id, addresses = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
addresses = [int(address, 16) + 4 - 0x400000 for address in addresses]
lib = {"name": "program", "path": program, "debugName": "program", "debugPath": program, "codeId": build_id}
thread = {
    "name": "program", "pid": "5", "tid": "5",
    "stringArray": ["program"] + [hex(address) for address in addresses],
    "resourceTable": {"length": 1, "lib": [0], "name": [0], "type": [1]},
    "funcTable": {"length": 2, "name": [1, 2], "resource": [0, 0]},
    "frameTable": {"length": 2, "address": addresses, "func": [0, 1]},
    "stackTable": {"length": 2, "prefix": [None, 0], "frame": [0, 1]},
    "samples": {"length": 3, "stack": [0, 1, 1], "timeDeltas": [1, 1, 1], "weight": None},
}
meta = {"version": 24, "preprocessedProfileVersion": 44, "interval": 1, "categories": []}
json.dump({"meta": meta, "libs": [lib], "threads": [thread]}, open(path, "w"))
END
}

# expect TEXT FILE [OPTION...]: both as folded text.
expect() {
    local input
    for input in trace.pftrace profile.json; do
        HOME=/nonexistent "$STACKWIDE" convert "$input" --root none --no-annotations -o "$2" "${@:3}" 2>errors ||
            fail "$input could not be read: $(tail -1 errors)"
        diff -u <(printf '%s\n' "$1") "$2" || fail "other stacks of $input in $2"
    done
}

make_trace trace.pftrace
make_profile profile.json
named=$'main 1\nmain;work;inner 2'
expect "$named" named.folded

# Gone, then below --symbols.
mkdir names
mv program names/
expect $'[program] 1\n[program];[program] 2' gone.folded
expect "$named" names.folded --symbols names

# Another program of this name.
cc -O1 -no-pie -Wl,--build-id=sha1 -DOTHER -x c -o names/program - <<<'int work(int n) { return n; } int main(void) { return work(0); }'
expect $'[program] 1\n[program];[program] 2' other.folded --symbols names
