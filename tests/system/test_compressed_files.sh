#!/bin/bash
# Files that other programs compressed are read, by content, from files and standard input; what cannot be is said in
# one line. Files that stackwide compressed are read by these programs. UTF-16 is read as PowerShell writes it.
# runs: beside others
source "$(dirname "$0")/lib.sh"
cd "$TMPDIR"

printf 'main;a 5\nmain;b 6\n' >a.folded
printf 'main;a 1\nmain;c 2\n' >b.folded
"$STACKWIDE" convert a.folded b.folded -o both.folded
declare -A suffixes=([gzip]=.gz [zstd]=.zst [xz]=.xz [bzip2]=.bz2 [lz4]=.lz4)
num_programs=0
reads() { "$STACKWIDE" convert "$@" -o - --to folded; }

for program in gzip zstd xz bzip2 lz4; do
    command -v "$program" >/dev/null || continue
    num_programs=$((num_programs + 1))
    "$program" -c a.folded >a.packed
    "$program" -c b.folded >b.packed
    cat a.packed b.packed >both.packed
    reads a.packed | cmp a.folded - || fail "$program: another text"
    reads - <both.packed | cmp both.folded - || fail "$program: two frames on standard input"
    # By the name before the suffix, where the content alone does not tell.
    printf 'main 3\n' | "$program" -c >"one.folded${suffixes[$program]}"
    [[ $(reads "one.folded${suffixes[$program]}") = 'main 3' ]] || fail "$program: the extension before its suffix"
    # Bytes behind the end are ignored, and told.
    { cat a.packed && printf 'rubbish'; } >trailing.packed
    reads trailing.packed 2>err | cmp a.folded - || fail "$program: bytes behind the data"
    grep -q "at byte [0-9]*: 7 bytes after the $program data are ignored" err || fail "$program: $(cat err)"
    head -c $(($(stat -c %s a.packed) - 2)) a.packed >cut.packed
    expect_status 3 "$STACKWIDE" report cut.packed
    grep -q "cut.packed: at byte [0-9]*: the $program data is truncated$" "$TMPDIR/err" || fail "$program: $(cat "$TMPDIR/err")"
    [[ $(wc -l <"$TMPDIR/err") = 1 ]] || fail "$program: more than one line: $(cat "$TMPDIR/err")"
    # A pprof profile is compressed itself.
    "$STACKWIDE" convert a.folded -o a.pb.gz
    "$program" -c a.pb.gz >a.pb.packed
    reads a.pb.packed | cmp a.folded - || fail "$program: a .pb.gz file that is compressed again"
done
[[ $num_programs -gt 0 ]] || skip "needs gzip, zstd, xz, bzip2 or lz4"

# What stackwide compresses. What is compressed already is not compressed again.
for extension in folded json speedscope.json firefox.json svg txt sprof pftrace; do
    "$STACKWIDE" convert a.folded -o "x.$extension" -o "x.$extension.gz" -o "x.$extension.zst"
    gzip -dc "x.$extension.gz" | cmp "x.$extension" - || fail "$extension.gz: another text"
    [[ $extension = txt ]] || [[ $(reads "x.$extension.zst") = "$(reads "x.$extension")" ]] || fail "$extension.zst: not read again"
    ! command -v zstd >/dev/null || zstd -dqc "x.$extension.zst" | cmp "x.$extension" - || fail "$extension.zst: another text"
done
"$STACKWIDE" convert a.folded -o packed.pftrace.gz --compress
gzip -dc packed.pftrace.gz | cmp x.pftrace - || fail "--compress compresses packets of a compressed file"
gzip -dc a.pb.gz >a.pb
[[ $(head -c 2 a.pb | od -An -tx1) != ' 1f 8b' ]] || fail "a .pb.gz file is compressed twice"
expect_status 2 "$STACKWIDE" convert a.folded -o a.pb.gz.zst
grep -q "'a.pb.gz.zst': files of the format pprof are compressed already; end the name in .pb.gz" "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
expect_status 2 "$STACKWIDE" convert a.folded -o a.html.gz

# Zones that become a trace, a chunk at a time.
printf '%s\n' 'THREAD, 1, main' 'LOCATION, 1, work, do_work, a.c, 3' 'ZONE_START, 8000, 1, 100, 1' 'ZONE_END, 8000, 250' >in.zones
"$STACKWIDE" convert in.zones -o zones.pftrace
"$STACKWIDE" convert in.zones -o zones.pftrace.gz --compress
gzip -dc zones.pftrace.gz | cmp zones.pftrace - || fail "zones: another trace"

# UTF-16: folded text, perf script's text, JSON.
for encoding in UTF-16LE UTF-16BE; do
    mark='\377\376'
    [[ $encoding = UTF-16LE ]] || mark='\376\377'
    for file in a.folded x.speedscope.json; do
        { printf "$mark" && sed 's/$/\r/' "$file" | iconv -f UTF-8 -t $encoding; } >wide.txt
        [[ $(reads wide.txt) = "$(reads "$file")" ]] || fail "$encoding of $file: $(reads wide.txt 2>&1 | head -n 3)"
    done
done
