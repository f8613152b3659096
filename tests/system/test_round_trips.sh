#!/bin/bash
# A recording with interpreters, inlined functions, a thread with two names, an exec, waits and events is the same in each format
# that keeps all, and after a conversion from any of them to any other.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/node.sh"
need_recording
find_nodes 16
export NODE=${nodes[0]}
cd "$TMPDIR"
outputs=()
for extension in html pb.gz svg speedscope.json firefox.json pftrace; do
    outputs+=(-o "recorded.$extension")
done
record -F 499 --off-cpu --period 1ms -e cpu-clock,page-faults "${outputs[@]}" -- python3 -S "$(dirname "$0")/../workloads/two_names.py"
python3 -S "$(dirname "$0")/round_trips.py" "$STACKWIDE" recorded.* || fail "what is read is not what was written"
# The clock alone: what a trace has as periods is samples on a page, and so are their times.
record -F 499 -o clock.pftrace -- python3 -S -c 'sum(i * i for i in range(300000))'
"$STACKWIDE" convert clock.pftrace -o clock.html
"$STACKWIDE" convert clock.html -o again.pftrace
for file in clock.html again.pftrace; do
    diff <("$STACKWIDE" report clock.pftrace --json) <("$STACKWIDE" report "$file" --json) || fail "$file differs"
done
# The sums of a recording of waits, which its trace does not contain.
record -F 499 --off-cpu -o waits.pftrace -o waits.folded -o waits.pb.gz -- python3 -S -c 'import time; sum(i * i for i in range(300000)); time.sleep(0.01)'
"$STACKWIDE" convert waits.pftrace -o again.folded
diff waits.folded again.folded || fail "a trace of waits becomes another folded text"
for metric in samples cpu blocked wall; do
    diff <("$STACKWIDE" convert waits.pb.gz --metric "$metric" --root tid -o - --to folded) \
        <("$STACKWIDE" convert waits.pftrace --metric "$metric" --root tid -o - --to folded) || fail "a trace has another sum of $metric"
done
