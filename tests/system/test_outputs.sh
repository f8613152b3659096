#!/bin/bash
# -o and --to: several outputs, formats by extension and by name, standard output, made-up names.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
need_recording

start "$WORKLOADS/burn" 60
program=$PID
record_program() { record_cpu_time 300 "$program" -p "$program" -F 499 "$@"; }
cd "$TMPDIR"

# One recording, three outputs of it; --to belongs to the next -o.
record_program -o a.folded --to folded -o b.data -o c.txt -o d.folded.gz -o e.folded.zst >stdout
cmp a.folded b.data || fail "two folded outputs of one recording differ"
gzip -dc d.folded.gz | cmp a.folded - || fail "gzip reads another text"
! command -v zstd >/dev/null || zstd -qdc e.folded.zst | cmp a.folded - || fail "zstd reads another text"
[[ ! -s stdout ]] || fail "wrote to standard output"
grep -q burn_60 c.txt || fail "no burn_60 in the table: $(cat c.txt)"
! grep -q ';' c.txt || fail "the table holds stacks"
awk '!/^[^ ].* [1-9][0-9]*$/ { exit 1 }' a.folded || fail "not folded: $(head -n 3 a.folded)"
LC_ALL=C sort -c <(sed -E 's/ [0-9]+$//' a.folded) || fail "stacks are not sorted"
[[ -z $(sed -E 's/ [0-9]+$//' a.folded | uniq -d) ]] || fail "stacks are not unique"

# Standard output, with --to after the last -o.
record_program -o - --to folded >stdout
expect_frame stdout burn_60
record_program --to text -o - >stdout
grep -q burn_60 stdout || fail "no table on standard output"

# A name of its own, told at the end.
extension=html
"$STACKWIDE" view -o page.html || extension=svg
rm -f -- *
record_program
if [[ $extension = svg ]]; then
    grep -q 'without its viewer' record.err || fail "no word of the missing viewer"
fi
name=$(ls ./stackwide-*)
[[ $name =~ ^\./stackwide-$(uname -n)-[0-9]{8}T[0-9]{6}\.$extension$ ]] || fail "the name is $name"
grep -qF "${name#./}" record.err || fail "the name is not told"
"$STACKWIDE" convert "$name" -o - --to folded | has_line burn_60 || fail "it cannot be read back"

# An old file is replaced, and nothing else is left beside it.
rm -f -- *
echo "old 1" >a.folded
record_program -o a.folded
! grep -q old a.folded || fail "the old file is still there"
[[ $(ls -A -I record.err) = a.folded ]] || fail "left behind: $(ls -A)"
