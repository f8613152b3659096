#!/bin/bash
# --io: bytes of requests to block devices, at the stacks that made them, and how long they took; each kind apart.
# runs: in turn
source "$(dirname "$0")/lib.sh"
need_recording
"$STACKWIDE" events block-io-time >/dev/null 2>&1 || skip "this kernel has no tracepoints of block devices"

# Reads that no page cache answers, of a file that is written before; here or where the tests lie.
file=
for folder in "$TMPDIR" "$REPO" /var/tmp; do
    dd if=/dev/zero of="$folder/stackwide-io" bs=1M count=8 conv=fsync 2>/dev/null || continue
    trap 'rm -f "$folder/stackwide-io"; stop_background' EXIT
    if dd if="$folder/stackwide-io" of=/dev/null bs=4096 count=1 iflag=direct 2>/dev/null &&
        device=$(mountpoint -d "$(df --output=target "$folder" | tail -n 1)" 2>/dev/null) && [[ -d /sys/dev/block/$device ]]; then
        file=$folder/stackwide-io
        break
    fi
    rm -f "$folder/stackwide-io"
done
[[ -n $file ]] || skip "no folder here is on a block device that can be read directly"

# Adjoining requests are merged: all of their bytes count, at the code that makes them.
record --io -c 1 --metric block-io -o "$TMPDIR/merged.folded" --stats "$TMPDIR/merged.json" -- "$WORKLOADS/reads_in_batches" "$file" >"$TMPDIR/truth"
expect_account_adds_up "$TMPDIR/merged.json"
bytes=$(folded_match "$TMPDIR/merged.folded" ';main;read_batch;.*;\[block read\] [0-9]+$')
merged=$(folded_match "$TMPDIR/merged.folded" ';main;read_batch;.*;blk_attempt_[a-z_]*_merge_\[k\];.*;\[block read\] [0-9]+$')
echo "$bytes bytes at the program's reads, of $(cat "$TMPDIR/truth"); $merged of them merged"
[[ $bytes = "$(cat "$TMPDIR/truth")" ]] || fail "not as many as are read"

record --io -c 1 --metric block-io -o "$TMPDIR/io.folded" -o "$TMPDIR/io.pb.gz" --stats "$TMPDIR/io.json" -- \
    dd if="$file" of=/dev/null bs=65536 iflag=direct 2>/dev/null
expect_account_adds_up "$TMPDIR/io.json"
bytes=$(folded_match "$TMPDIR/io.folded" '^dd;.*;read;.*;\[block read\] [0-9]+$')
echo "$bytes bytes of requests at dd's read, which reads $((8 << 20))"
((bytes == 8 << 20)) || fail "not as many as are read"
python3 -S - "$TMPDIR/io.json" <<'PYTHON' || fail "the account: $(cat "$TMPDIR/io.json")"
import json, sys
stats = json.load(open(sys.argv[1]))
bytes_, time, discarded = stats["events"]
for event in stats["events"]:
    print(event)
    assert event["fired"] == sum(event[name] for name in ("idle", "filtered", "unmatched", "weightless", "unseen_begin", "unfinished", "below_period", "samples")) + sum(event["lost"].values())
assert bytes_["unit"] == "bytes" and time["unit"] == "nanoseconds"
assert bytes_["unfinished"] == 0
assert discarded["name"] == "block-discard" and discarded["unit"] == "bytes" and discarded["weight"] == 0
# The first ones are made before the tables of dd's files are there: their stacks wait for them.
walked, early = stats["user_stacks"]["complete"], stats["user_stacks"]["recovered"]
print(walked, "whole stacks,", early, "of them early")
assert early >= 2 and not any(stats["user_stacks"]["truncated"].values()), stats["user_stacks"]
# One request, or more, for each read; each takes its time, and dd waits for them one after the other.
assert time["samples"] >= 128 and time["unfinished"] == 0
assert 128 * 1000 <= time["weight"] <= stats["duration_ns"] * stats["cpus"] * 8
PYTHON
# With a period that adapts, the sum is exact, too: what comes before a pause is not forgotten.
# shellcheck disable=SC2016 # the inner shell is to expand it
record -e block-io -o "$TMPDIR/paused.folded" --stats "$TMPDIR/paused.json" -- \
    sh -c 'for i in 0 1 2 3 4 5 6 7; do dd if="$1" of=/dev/null bs=4096 count=256 skip=$((256 * i)) iflag=direct; sleep 0.05; done' - "$file" 2>/dev/null
python3 -S - "$TMPDIR/paused.json" <<'PYTHON' || fail "with pauses: $(cat "$TMPDIR/paused.json")"
import json, sys
event, = json.load(open(sys.argv[1]))["events"]
print(f"{event['samples']} samples of {event['weight']} bytes, and {event['rest']} after the last")
# The programs may have to be read, too.
assert event["weight"] + event["rest"] >= 8 << 20 and not any(event["lost"].values())
assert event["below_period"] >= 1
PYTHON
# What a device of our own was asked for: the kernel counts the same.
loop=
if truncate -s 32M "$TMPDIR/image" && loop=$(losetup -f --show "$TMPDIR/image" 2>/dev/null); then
    trap 'losetup -d "$loop"; rm -f "$folder/stackwide-io"; stop_background' EXIT
fi
if [[ -n $loop ]] && blkdiscard "$loop" 2>/dev/null; then
    cp "/sys/block/${loop#/dev/}/stat" "$TMPDIR/before"
    IFS=: read -r major minor <"/sys/block/${loop#/dev/}/dev"
    # Programs that are not in memory are read from another device.
    device="dev == $((major << 20 | minor))"
    # shellcheck disable=SC2016 # the inner shell is to expand it
    record -e block-io --filter "$device" -e block-io-time -e block-discard --filter "$device" -c 1 --metric block-io -o "$TMPDIR/kinds.folded" -o "$TMPDIR/kinds.pb.gz" --stats "$TMPDIR/kinds.json" -- \
        sh -c 'dd if=/dev/zero of="$1" bs=65536 count=48 oflag=direct conv=fsync && dd if="$1" of=/dev/null bs=65536 count=32 iflag=direct &&
            blkdiscard -z -o 8M -l 1M "$1" && blkdiscard -o 16M -l 8M "$1"' - "$loop" 2>/dev/null
    cp "/sys/block/${loop#/dev/}/stat" "$TMPDIR/after"
    python3 -S - "$TMPDIR/before" "$TMPDIR/after" "$TMPDIR/kinds.json" <<'PYTHON' || fail "the kinds: $(cat "$TMPDIR/kinds.json" "$TMPDIR/before" "$TMPDIR/after")"
import json, sys
before, after = (list(map(int, open(name).read().split())) for name in sys.argv[1:3])
# Sectors that were read, written and discarded (Documentation/block/stat.rst).
read, written, discarded = ((after[i] - before[i]) * 512 for i in (2, 6, 13))
transferred, time, forgotten = json.load(open(sys.argv[3]))["events"]
print(read, written, discarded, transferred["weight"], forgotten["weight"])
assert read >= 32 * 65536 and written >= 48 * 65536 and discarded == 8 << 20
assert transferred["weight"] == read + written
assert forgotten["weight"] == discarded
assert transferred["unmatched"] >= 1 and forgotten["unmatched"] >= 80 and time["unmatched"] == 0
PYTHON
    for kind in read write; do
        (($(folded_match "$TMPDIR/kinds.folded" ";\\[block $kind\\] [0-9]+\$"))) || fail "there is no [block $kind]"
    done
    for kind in read write discard flush; do
        "$STACKWIDE" report "$TMPDIR/kinds.pb.gz" --metric block-io-time | grep -qF "[block $kind]" || fail "the time of [block $kind] is missing"
    done
fi
# Reads and writes through the page cache are merged more often; flushers and workers of the kernel make some of them.
if [[ -n $loop ]]; then
    IFS=: read -r major minor <"/sys/block/${loop#/dev/}/dev"
    device="dev == $((major << 20 | minor))"
    cp "/sys/block/${loop#/dev/}/stat" "$TMPDIR/before"
    # shellcheck disable=SC2016 # the inner shell is to expand it
    record -a -e block-io --filter "$device" -c 1 --buffer-size 64M -o "$TMPDIR/cached.folded" --stats "$TMPDIR/cached.json" -- \
        sh -c 'for i in 3 1 0 2 7 5 6 4; do dd if=/dev/zero of="$1" bs=512K count=1 seek=$i conv=notrunc; done; sync "$1"; blockdev --flushbufs "$1"; dd if="$1" of=/dev/null bs=1M count=8' - "$loop" 2>/dev/null
    cp "/sys/block/${loop#/dev/}/stat" "$TMPDIR/after"
    python3 -S - "$TMPDIR/before" "$TMPDIR/after" "$TMPDIR/cached.json" <<'PYTHON' || fail "through the page cache: $(cat "$TMPDIR/cached.json")"
import json, sys
before, after = (list(map(int, open(name).read().split())) for name in sys.argv[1:3])
transferred, = json.load(open(sys.argv[3]))["events"]
expected = sum(after[i] - before[i] for i in (2, 6)) * 512
print(f"{transferred['weight']} bytes, the disk's statistics have {expected}; {after[1] + after[5] - before[1] - before[5]} merges")
assert expected >= 12 << 20 and not any(transferred["lost"].values())
assert transferred["weight"] == expected
PYTHON
fi
# Ends come in interrupts, also while a map is changed on that CPU; the kernel then runs no programs of tracepoints.
changers=()
for ((i = 0; i < $(nproc); i++)); do
    start "$WORKLOADS/changes_maps"
    changers+=("$PID")
done
record -e block-io-time -c 1 -o "$TMPDIR/changed.folded" --stats "$TMPDIR/changed.json" -- dd if="$file" of=/dev/null bs=65536 iflag=direct 2>/dev/null
kill -TERM "${changers[@]}"
expect_account_adds_up "$TMPDIR/changed.json"
python3 -S - "$TMPDIR/changed.json" <<'PYTHON' || fail "the account: $(cat "$TMPDIR/changed.json")"
import json, sys
event, = json.load(open(sys.argv[1]))["events"]
print(event)
assert event["samples"] + event["lost"]["skipped"] >= 128 and event["unfinished"] == 0
PYTHON
# Its bytes are of tracepoints with the same fields, which may have a filter; its time is of two.
record -e block-io --filter 'nr_sector > 8' -c 1 -o "$TMPDIR/large.folded" -- dd if="$file" of=/dev/null bs=4096 count=4 iflag=direct 2>/dev/null
[[ $(folded_match "$TMPDIR/large.folded" '^dd;.*;read;.* [0-9]+$') = 0 ]] || fail "the filter lets small requests pass"
expect_status 2 "$STACKWIDE" record -e block-io-time --filter 'bytes > 4096' -o "$TMPDIR/x.folded"
"$STACKWIDE" report "$TMPDIR/io.pb.gz" --metric block-io-time --include function:read | grep -q read ||
    fail "the time of requests is not at who made them"
