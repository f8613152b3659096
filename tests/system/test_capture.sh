#!/bin/bash
# Captures into one archive, with limits: some are killed at any moment, some overlap. Whatever
# happens, each file that is there can be read, the limits hold, and nothing else in the folder is
# touched. CAPTURES=100 makes it the long run that it stands for.
. "$(dirname "$0")/lib.sh"
need_recording

captures=${CAPTURES:-10}
archive=$TMPDIR/archive
max_kb=24
start "$WORKLOADS/inlined" 600
workload=$PID

command=("$STACKWIDE" capture --dir "$archive" -p "$workload" -d 0.2s -F 999 --keep 1m
    --max-size ${max_kb}K --min-free 0)
capture() { "${command[@]}" "$@"; }

list_captures() { find "$archive" -name '*Z-*.pb.gz' -type f | sort; }
# Of what is not ours: names and contents.
list_others() {
    (cd "$archive" && find . -type f ! -name '*Z-*.pb.gz' ! -name .stackwide.lock \
        -exec sha256sum {} + | sort)
}

expect_status 0 capture
[[ ! -s $TMPDIR/err ]] || fail "talks when all is well: $(cat "$TMPDIR/err")"
day=$(dirname "$(list_captures)")
[[ $(stat -c %a "$(list_captures)" "$day" | paste -sd ' ') = "640 750" ]] || fail "wrong modes"

# What looks like ours, but is not, and what is very old, but not ours.
mkdir -p "$archive/2001/01/01" "$archive/mine"
echo text >"$archive/2001/01/01/notes.txt"
echo text >"$day/000000Z-host.pb.gz.bak"
echo text >"$archive/mine/000000Z-host.pb.gz"
ln -s /etc/passwd "$day/000001Z-host.pb.gz"
touch -d 2001-01-01 "$archive/2001/01/01/notes.txt"
# A leftover of a file system that has no nameless files.
touch "$day/.stackwide-1.tmp"
others=$(list_others | grep -v stackwide-1.tmp)

for ((i = 1; i < captures; i++)); do
    if ((i % 5 == 3)); then # killed at any moment
        start "${command[@]}"
        sleep "0.$((RANDOM % 7))$((RANDOM % 10))"
        kill -KILL "$PID" 2>/dev/null || true
        wait "$PID" 2>/dev/null || true
    else
        expect_status 0 capture
    fi
done

# Two at once: the later one says so, and leaves it at that.
start "${command[@]}" -d 2s
wait_until is_sampling "$PID"
before=$SECONDS
expect_status 0 capture -d 60s
grep -q 'another capture' "$TMPDIR/err" || fail "says nothing of the other run"
((SECONDS - before < 10)) || fail "waits for the other run"
wait "$PID"

[[ $(list_others) = "$others" ]] || fail "files of others changed: $(list_others) was $others"
[[ $(readlink "$day/000001Z-host.pb.gz") = /etc/passwd ]] || fail "a link was removed"
mapfile -t files < <(list_captures | grep -v /mine/)
((${#files[@]} >= 3)) || fail "only ${#files[@]} captures are left"
for file in "${files[@]}"; do
    zcat -t "$file" || fail "$file is no whole file"
done
expect_status 0 "$STACKWIDE" history --dir "$archive" --json
listed=$(python3 -c 'import json, sys; print(len(json.load(sys.stdin)["captures"]))' <"$TMPDIR/out")
expect_near "captures that history reads" "$listed" ${#files[@]} 0
kb=$(du -kc "${files[@]}" | tail -n 1 | cut -f 1)
expect_between "size of all" "$kb" 1 $max_kb
[[ -z $(find "${files[@]}" -mmin +2) ]] || fail "captures of over two minutes ago are left"
