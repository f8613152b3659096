#!/bin/bash
# A trace of another tool that knows code by its ELF address only: our own rooms name it, by the
# program at its path, or below --symbols; another program is not taken for it.
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

# expect TEXT FILE [OPTION...]: the trace as folded text.
expect() {
    HOME=/nonexistent "$STACKWIDE" convert trace.pftrace --no-annotations -o "$2" "${@:3}" 2>errors ||
        fail "the trace could not be read: $(tail -1 errors)"
    diff -u <(printf '%s\n' "$1") "$2" || fail "other stacks in $2"
}

make_trace trace.pftrace
named=$'[unknown];main 1\n[unknown];main;work;inner 2'
expect "$named" named.folded

# Gone, then below --symbols.
mkdir names
mv program names/
expect $'[unknown];[program] 1\n[unknown];[program];[program] 2' gone.folded
expect "$named" names.folded --symbols names

# Another program of this name.
cc -O1 -no-pie -Wl,--build-id=sha1 -DOTHER -x c -o names/program - <<<'int work(int n) { return n; } int main(void) { return work(0); }'
expect $'[unknown];[program] 1\n[unknown];[program];[program] 2' other.folded --symbols names
