#!/bin/bash
# The history with an index is the history without one, byte for byte: where the index is missing, older than
# captures, damaged, of somebody else or of captures that have changed. Captures are read once.
# runs: beside others
. "$(dirname "$0")/lib.sh"

archive=$TMPDIR/archive
index=$archive/.stackwide.index
day=$archive/2026/11/21
mkdir -p "$day"
export TZ=UTC

# add TIME LINE…: a folded capture
add() {
    local path=$day/$1Z-web.folded
    shift
    printf '%b\n' "$@" >"$path"
}
history() { "$STACKWIDE" history --dir "$archive" "$@"; }
# Both outputs, what is said, and the status.
show() {
    for option in '' --json; do
        history $option 2>&1 || echo "status $?"
    done
}
# How many captures are read.
count_reads() { history -v 2>&1 >/dev/null | grep -c ' records, ' || true; }
expect_reads() {
    local reads
    reads=$(count_reads)
    ((reads == $1)) || fail "$reads captures are read, expected $1: $2"
}
# What an index may change: nothing. It is as it would be in an archive that never had one.
expect_same() {
    local without
    show >"$TMPDIR/with"
    show >"$TMPDIR/again"
    mv "$index" "$TMPDIR/kept" 2>/dev/null || true
    without=$(show)
    rm -rf "$index"
    mv "$TMPDIR/kept" "$index" 2>/dev/null || true
    [[ $(cat "$TMPDIR/with") = "$without" ]] || fail "$1: $(diff <(echo "$without") "$TMPDIR/with")"
    [[ $(cat "$TMPDIR/again") = "$without" ]] || fail "$1, again: $(diff <(echo "$without") "$TMPDIR/again")"
}

add 100000 'main;work 3' 'main;rest 4'
add 110000 'main;a "quoted" \\ name 5'
add 120000 'main;\303\251 7'
add 130000 'main;last 9'
printf 'main;io 12\nmain;io;read 8\n' >"$TMPDIR/in.folded"
"$STACKWIDE" convert "$TMPDIR/in.folded" -o "$day/140000Z-web.pb.gz"
expect_same "no index"
expect_reads 0 "all have a line"
[[ $(stat -c %a "$index") = 640 ]] || fail "mode $(stat -c %a "$index")"

# One that is damaged, or of which there is something to say, is read each time, so that it is said; so is
# one with names that an index cannot hold, and a foreign one of addresses, whose names are in files of this
# machine.
add 150000 'main;work'
add 160000 'main;work 1' 'malformed'
add 170000 'main;not UTF-8 \377 1'
python3 - >"$day/171717Z-web.pb.gz" <<'PYTHON'
import gzip, sys
def varint(number):
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)
def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value
sys.stdout.buffer.write(gzip.compress(
    field(1, field(1, 1) + field(2, 2)) + field(2, field(1, 1) + field(2, 5)) +
    field(3, field(1, 1) + field(2, 0x1000) + field(3, 0x9000) + field(5, 3)) +
    field(4, field(1, 1) + field(2, 1) + field(3, 0x1234)) +
    b"".join(field(6, text) for text in (b"", b"samples", b"count", b"/nowhere/program"))))
PYTHON
[[ $(history 2>/dev/null || true) = *'[program]'* ]] || fail "the capture of addresses is not read"
expect_same "captures that are read each time"
expect_reads 3 "what is not damaged, and has no line"
rm "$day"/1[567]*

# Newer captures, and those that are gone.
add 180000 'main;new 1'
rm "$day/110000Z-web.folded"
expect_reads 1 "one is new"
expect_same "an older index"
expect_reads 0 "the new one has a line"
[[ $(history --since 2026-11-21T12:30 --until 2026-11-21T14:30 | wc -l) = 3 ]] || fail "not two captures"

# A line is of the capture that it was made of: of its size, and of its time.
cp -p "$day/100000Z-web.folded" "$TMPDIR/before"
echo 'main;other 5' >>"$day/100000Z-web.folded"
touch -r "$TMPDIR/before" "$day/100000Z-web.folded"
expect_reads 1 "one is longer"
expect_same "a longer capture"
sed -i s/last/LAST/ "$day/130000Z-web.folded"
expect_reads 1 "one has another time"
history | has_line LAST || fail "what was written over is still listed"
expect_same "a capture that was written over"

# Whatever is in the index's place.
good=$TMPDIR/good
cp "$index" "$good"
for damage in 's/LAST/lost/' 's/^stackwide history/stackwide report/' 's/version [0-9.]*/version 9.9.9/' \
    's/web/../' 's/ \[/ {/' 's/\]/]]/' 's/$/\r/' 'y/123456789/234567891/'; do
    sed "$damage" "$good" >"$index"
    expect_same "damaged by $damage"
    expect_reads 0 "after $damage"
done
for size in 0 1 40 200 $(($(stat -c %s "$good") - 1)); do
    head -c "$size" "$good" >"$index"
    expect_same "$size bytes of it"
    expect_reads 0 "after $size bytes of it"
done
head -c 100000 /dev/urandom >"$index"
expect_same "noise"
{ cat "$good"; head -c 100000 /dev/urandom; } >"$index"
expect_same "noise at the end"
expect_reads 0 "the lines before the noise"
sed 's/LAST/lost/; p' "$good" >>"$index"
expect_same "lines that were made up"

# A link is neither read nor written through, nor is another name of a file.
cp "$good" "$TMPDIR/target"
ln -sf "$TMPDIR/target" "$index"
expect_reads 5 "the index is a link"
expect_same "a link"
cmp -s "$good" "$TMPDIR/target" || fail "it was written through a link"
[[ -f $index && ! -L $index ]] || fail "the link is left"
ln -sf /dev/zero "$index"
expect_same "a link to a device"
ln -f "$TMPDIR/target" "$index"
expect_reads 5 "the index is another name of a file"
cmp -s "$good" "$TMPDIR/target" || fail "it was written to another name of a file"
rm "$index"
mkfifo "$index"
expect_same "a FIFO"
rm -rf "$index"
mkdir "$index"
expect_reads 5 "the index is a folder"
expect_same "a folder"
[[ -z $(find "$archive" -name '.stackwide-*') ]] || fail "temporary files are left"
rm -rf "$index"

# What others can write to is none; who may only read just reads. Root's is readable by whose folder it is.
expect_reads 5 "there is none"
chmod 646 "$index"
expect_reads 5 "anybody can write to it"
[[ $(stat -c %a "$index") = 640 ]] || fail "mode $(stat -c %a "$index") is left"
[[ $(id -u) = 0 ]] || exit 0
command -v setpriv >/dev/null || exit 0
chown 12345 "$index"
expect_reads 5 "it is somebody else's"
rm "$index"
chmod -R a+rX "$archive"
# By descriptors, as the folders above are root's alone.
exec 8<"$archive" 9<"$STACKWIDE"
as_nobody() {
    setpriv --reuid=65534 --regid=65534 --clear-groups /proc/self/fd/9 history --dir /proc/self/fd/8 "$@"
}
as_nobody >"$TMPDIR/nobody" || fail "who may not write fails"
[[ ! -e $index ]] || fail "an index of somebody who may not write"
[[ $(cat "$TMPDIR/nobody") = "$(history)" ]] || fail "others see another history"
as_nobody >"$TMPDIR/nobody" 2>"$TMPDIR/err" || fail "who may not read the index fails"
[[ $(cat "$TMPDIR/nobody") = "$(history)" && ! -s $TMPDIR/err ]] || fail "says $(cat "$TMPDIR/err")"
rm "$index"
chown -R 65534:65534 "$archive"
expect_reads 5 "there is none"
[[ $(stat -c %u "$index") = 65534 ]] || fail "root's index in a folder of $(stat -c %u "$archive")"
[[ $(as_nobody -v 2>&1 >/dev/null | grep -c ' records, ') = 0 ]] || fail "root's index is of no use to others"

# Of what root has captured there, whose folder it is has nothing to say, nor is told anything.
chown 0 "$day/100000Z-web.folded"
expect_reads 1 "another user's word of root's capture"
rm "$index"
for try in first second; do
    history >/dev/null
    ! grep 100000Z "$index" || fail "root's capture in an index of another user ($try)"
done
expect_reads 1 "root's alone"
