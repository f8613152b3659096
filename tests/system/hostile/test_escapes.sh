#!/bin/bash
# A program whose name, path, arguments, thread names and functions hold escape sequences and newlines: none
# reaches the terminal, in the summary or with -v, and each line of the profile is one.
# runs: in turn
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/unharmed.sh"
need_recording
need_command setpriv

folder=$(mktemp -d /var/tmp/stackwide-hostile.XXXXXX)
trap 'stop_background; rm -rf "$folder"' EXIT
chmod 755 "$folder"
escape=$'\e]0;owned\a\e[2J'
evil=$folder/${escape}$'\n'"evil;1 7"
# The symbol's name is as long as before.
sed "s/burn_30/"$'\e[31mx\e'"/g" "$WORKLOADS/burn" >"$evil"
chmod 755 "$evil"
start "${as_attacker[@]}" "$evil" 60
attacker=$PID
wait_until test "/proc/$attacker/exe" -ef "$evil"
start_victim

# As on a terminal.
start_attacked -v
sleep 1
stop_unharmed
"$STACKWIDE" report "$TMPDIR/x.folded" >"$TMPDIR/report"
"$STACKWIDE" record -p "$attacker" -F 499 -d 1 -o "$TMPDIR/y.folded" >"$TMPDIR/one" 2>&1
expect_status 0 "$STACKWIDE" record -p "$attacker" -d 200ms -o "$folder/$escape.folded"
cat "$TMPDIR/err" >>"$TMPDIR/one"
find_controls() { LC_ALL=C grep -n $'[\x01-\x08\x0b-\x1f\x7f]' "$1" >"$TMPDIR/found"; }
for file in record.err report one; do
    find_controls "$TMPDIR/$file" && fail "control characters in $file: $(cat -v "$TMPDIR/found")"
done
grep -vE '^[^;]+(;.*)? [0-9]+$' "$TMPDIR/x.folded" >"$TMPDIR/found" &&
    fail "lines that are none: $(cat -v "$TMPDIR/found")"
find_controls "$TMPDIR/x.folded" && fail "control characters in the profile: $(cat -v "$TMPDIR/found")"
grep -q owned "$TMPDIR/one" || fail "the program's name was not shown: this test tests nothing"
