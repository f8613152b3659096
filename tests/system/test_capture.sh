#!/bin/bash
# Captures into one archive, with limits: some are killed at any moment, some overlap. Whatever
# happens, each file that is there can be read, the limits hold, and nothing else in the folder is
# touched. CAPTURES=100 makes it the long run that it stands for.
# runs: in turn
. "$(dirname "$0")/lib.sh"
need_recording

captures=${CAPTURES:-10}
RANDOM=${SEED:-$$}
echo "SEED=${SEED:-$$}"
archive=$TMPDIR/archive
max_kb=24
start "$WORKLOADS/inlined" 600
workload=$PID

command=("$STACKWIDE" capture --dir "$archive" -p "$workload" -d 0.2s -F 999 --keep 1h
    --max-size "${max_kb}K" --min-free 0)
capture() { "${command[@]}" "$@"; }

list_captures() { find "$archive" -name '*Z-*.pb.gz' -type f | sort; }
# Of what is not ours: names and contents.
list_others() {
    (cd "$archive" && find . -type f ! -name '*Z-*.pb.gz' ! -name .stackwide.lock \
        ! -name .stackwide.index \
        -exec sha256sum {} + | sort)
}

expect_status 0 capture
[[ ! -s $TMPDIR/err ]] || fail "talks when all is well: $(cat "$TMPDIR/err")"
[[ $("$STACKWIDE" history -v --dir "$archive" 2>&1 >/dev/null | grep -c ' records, ') = 0 ]] ||
    fail "history reads what capture has put into the index"
day=$(dirname "$(list_captures)")
[[ $(stat -c %a "$(list_captures)" "$day" | paste -sd ' ') = "640 750" ]] || fail "wrong modes"

# One that is older than captures are kept, by its name.
aged=$archive/$(date -u -d '2 hours ago' +%Y/%m/%d/%H%M%SZ-host.pb.gz)
mkdir -p "$(dirname "$aged")"
cp "$(list_captures)" "$aged"

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

# Two at once: the later one says so, and leaves it at that (or the runner ends it). The third in a
# row fails, and says whom to end; one that gets through makes all well again.
start "${command[@]}" -d 1h
other=$PID
wait_until is_sampling "$other"
for ((i = 0; i < 2; i++)); do
    expect_status 0 capture -d 1h
    grep -q 'another capture' "$TMPDIR/err" || fail "says nothing of the other run"
done
expect_status 1 capture -d 1h
grep -q "since .* (process $other)" "$TMPDIR/err" || fail "says: $(cat "$TMPDIR/err")"
kill -TERM "$other"
wait "$other" || fail "the other run failed"
expect_status 0 capture
start "${command[@]}" -d 1h
other=$PID
wait_until is_sampling "$other"
expect_status 0 capture -d 1h
kill -TERM "$other"
wait "$other" || fail "the other run failed"

# Whoever can write the configuration says where root writes.
config=$TMPDIR/capture.conf
printf 'dir = %s\nduration = 100ms\npid = %s\n' "$TMPDIR/configured" "$workload" >"$config"
expect_status 0 "$STACKWIDE" capture --config "$config"
chown 65534 "$config"
expect_status 2 "$STACKWIDE" capture --config "$config"
grep -q "belongs to another user (uid 65534).*chown root" "$TMPDIR/err" || fail "no word of the owner"
expect_status 0 env SUDO_UID=65534 "$STACKWIDE" capture --config "$config"
chown 0:65534 "$config"
chmod 664 "$config"
expect_status 2 "$STACKWIDE" capture --config "$config"
grep -q "another group (gid 65534): chmod g-w" "$TMPDIR/err" || fail "no word of the group"
mkfifo "$TMPDIR/fifo.conf"
expect_status 2 timeout 10 "$STACKWIDE" capture --config "$TMPDIR/fifo.conf"

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
# The index, of which the runs that were killed may have left anything, changes nothing of that.
mv "$archive/.stackwide.index" "$TMPDIR/index"
"$STACKWIDE" history --dir "$archive" --json | cmp - "$TMPDIR/out" || fail "another history without an index"
[[ -z $(find "$archive" -maxdepth 1 -name '.stackwide-*') ]] || fail "temporary files are left"
kb=$(du -kc "${files[@]}" | tail -n 1 | cut -f 1)
expect_between "size of all" "$kb" 1 $max_kb
[[ ! -e $aged ]] || fail "a capture of two hours ago is left"
