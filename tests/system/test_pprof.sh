#!/bin/bash
# A recording written as pprof and as folded text is the same one: read back, the stacks are equal,
# whatever their first frame is; and protoc, which knows nothing of us, counts the same samples.
# runs: beside others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cpu_time.sh"
need_recording

start "$WORKLOADS/inlined" 600
program=$PID
start "$WORKLOADS/syscalls" 600
in_kernel=$PID
start_recording -F 499 -p "$program,$in_kernel" -o "$TMPDIR/a.pb.gz" -o "$TMPDIR/a.folded"
wait_for_cpu_times 300 "$program" "$in_kernel"
stop_recording
for root in comm pid tid none; do
    "$STACKWIDE" convert "$TMPDIR/a.pb.gz" --root $root -o "$TMPDIR/$root.folded"
done
cmp "$TMPDIR/comm.folded" "$TMPDIR/a.folded" || fail "pprof and folded text differ"
grep -q -- "-$program/$program;" "$TMPDIR/tid.folded" || fail "no thread $program/$program in the labels"
grep -qF '_[k]' "$TMPDIR/a.folded" || fail "no kernel frames: nothing is compared"
grep -qF '_[i]' "$TMPDIR/a.folded" || fail "no inlined frames: nothing is compared"
expect_near "total without root frames" "$(folded_total "$TMPDIR/none.folded")" \
    "$(folded_total "$TMPDIR/a.folded")" 0

# Reading makes one of what has equal names and no address; after that nothing changes any more.
"$STACKWIDE" convert "$TMPDIR/a.pb.gz" -o "$TMPDIR/again.pb.gz"
"$STACKWIDE" convert "$TMPDIR/again.pb.gz" -o "$TMPDIR/third.pb.gz"
cmp "$TMPDIR/again.pb.gz" "$TMPDIR/third.pb.gz" || fail "writing what was read gives other bytes"

need_command protoc
zcat "$TMPDIR/a.pb.gz" |
    protoc --decode=pprof.Profile -I"$REPO/src/formats/pprof" pprof.proto >"$TMPDIR/decoded"
grep -q '^  filename: ' "$TMPDIR/decoded" || fail "protoc sees no mappings"
grep -qE '^string_table: "[0-9a-f]{40}"' "$TMPDIR/decoded" || fail "protoc sees no build IDs"
total=$(awk '/^sample /{ inside = 1 } /^}/ { inside = 0 } inside && $1 == "value:" { sum += $2 }
    END { print sum }' "$TMPDIR/decoded")
expect_near "protoc's total" "$total" "$(folded_total "$TMPDIR/a.folded")" 0

# Of waits the labels say which they are and who ended them, and the frames come back.
cat >"$TMPDIR/waits.offwake.folded" <<'END'
app;main;read_all;[blocked];--;vfs_write_[k];serve;db 700
app;main;read_all;[uninterruptible];--;irq_[k];[interrupt] 200
END
"$STACKWIDE" convert "$TMPDIR/waits.offwake.folded" -o "$TMPDIR/waits.pb.gz"
"$STACKWIDE" convert "$TMPDIR/waits.pb.gz" -o "$TMPDIR/back.offwake.folded"
cmp "$TMPDIR/waits.offwake.folded" "$TMPDIR/back.offwake.folded" || fail "the waits are not those that were written"
zcat "$TMPDIR/waits.pb.gz" |
    protoc --decode=pprof.Profile -I"$REPO/src/formats/pprof" pprof.proto >"$TMPDIR/decoded"
awk '/^string_table: / { strings[count++] = substr($0, 16, length($0) - 16) }
    /^sample / { numSamples++ }
    $1 == "value:" { value[numSamples] = $2 }
    $1 == "key:" { numLabels++; sample[numLabels] = numSamples; key[numLabels] = $2 }
    $1 == "str:" { text[numLabels] = $2 }
    END { for (i = 1; i <= numLabels; i++) print value[sample[i]], strings[key[i]] "=" strings[text[i]] }' \
    "$TMPDIR/decoded" | grep -E ' (state|waker)=' | sort >"$TMPDIR/labels"
printf '%s\n' '200 state=uninterruptible' '200 waker=interrupt' '700 state=blocked' '700 waker=db' |
    diff - "$TMPDIR/labels" || fail "other labels"
