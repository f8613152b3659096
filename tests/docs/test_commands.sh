#!/bin/bash
# Every command of ours in README and the topics does what is written: it ends with status 0, and the files that it names are
# there. Inputs are made at first, placeholders replaced by what is here, recordings shortened.
# runs: beside others
. "$(dirname "$0")/lib.sh"
need_recording

lanes=3

# ---- what the commands need -----------------------------------------------------------------

export TZ=UTC BROWSER=true HOME=$TMPDIR/home
inputs=$TMPDIR/inputs tools=$TMPDIR/tools
mkdir -p "$inputs" "$tools" "$HOME"
# put_tool NAME SCRIPT
put_tool() {
    printf '#!/bin/bash\n%s\n' "$2" >"$tools/$1"
    chmod +x "$tools/$1"
}
ln -s "$STACKWIDE" "$tools/stackwide"
# shellcheck disable=SC2016 # of the tools
put_tool sudo 'SUDO_USER=root exec "$@"'
put_tool make "exec '$WORKLOADS/nofp_lock' 0.2 >/dev/null"
put_tool perf "exec cat '$inputs/perf.script'"
export PATH=$tools:$PATH

cd "$inputs"
cp "$tools/make" program
cp "${STACKWIDE%/*}/tests/programs/zones_threads" game
cat >perf.script <<'SCRIPT'
nginx   812 100.000000:   10101010 cpu-clock:
        55d0c2a41000 malloc+0x10 (/usr/lib/libc.so.6)
        55d0c2a42000 main+0x20 (/usr/bin/nginx)

SCRIPT
for name in before after old.1 old.2 old.3 new.1 new.2 new.3 a b perf night; do
    printf 'nginx;main;run;malloc %d\nnginx;main;run %d\n' $((30 + ${#name})) $((50 + ${#name})) >$name.folded
done
cp "$REPO/tests/fuzz/corpus/perf_data/file" perf.data
cp "$REPO/tests/fuzz/corpus/jfr/hotspot" today.jfr
for name in before after night; do
    stackwide convert $name.folded -o $name.pb.gz
done
stackwide convert before.folded -o BEFORE.html
stackwide convert after.folded -o AFTER.html
record --off-cpu --wakers --futexes -o nginx.html -o build.pftrace -o FILE.html -- "$WORKLOADS/nofp_lock" 0.3 >/dev/null
cp FILE.html stackwide-host-time.html
STACKWIDE_ZONES=game.zones ./game >/dev/null 2>&1
mkdir debug
for day in yesterday today now; do
    for minute in 3:05 3:10; do
        folder=archive/$(date -d "$day" +%Y/%m/%d)
        time=$(date -d "$minute" +%H%M%S)
        [[ $day != now ]] || time=$(date -d "-${minute%:*} seconds" +%H%M%S)
        mkdir -p "$folder"
        cp night.folded "$folder/${time}Z-host.folded"
    done
done
# One that waits for locks, and one that runs, so that no recording of the machine is without samples.
start "$WORKLOADS/nofp_lock" 300 >/dev/null
target=$PID
start "$WORKLOADS/burn" 300
num_loads=$(jobs -rp | wc -l)

# ---- placeholders ---------------------------------------------------------------------------

# Of a command as it is written the one that is run. A recording without an end gets one.
adapt() {
    sed -E -e "s,/var/lib/stackwide,archive,; s/\b812\b/$target/; s/-t 815\b/-t $target/" \
        -e 's/-d [0-9]+s?\b/-d 0.3/; s/ (FILE|BEFORE|AFTER)( |$)/ \1.html\2/g; s/ AFTER$/ AFTER.html/' \
        -e 's,--cgroup group,--cgroup /,; s/-e EVENT --filter EXPRESSION/-e sched:sched_switch --filter "prev_prio >= 0"/; s/-e EVENT\b/-e page-faults/' \
        -e '/stackwide record/{/ -d | -- /!s/stackwide record/stackwide record -d 0.3/}' <<<"$1"
}

# What this machine may lack: devices that count, tracefs, probes. Then the status is 4, and one line says so.
may_be_refused='(-e |--io|--syscalls|--alloc|--live|--faults|--off-cpu|--locks|--sched)'

# list_outputs COMMAND: files that it writes
list_outputs() {
    local rest=$1
    while [[ $rest =~ \ -o\ ([^ ]+)(.*) ]]; do
        [[ ${BASH_REMATCH[1]} = - ]] || echo "${BASH_REMATCH[1]}"
        rest=${BASH_REMATCH[2]}
    done
}

# ---- running them ---------------------------------------------------------------------------

# run_command NUMBER PLACE COMMAND: its verdict, a line: ok, refused or FAIL
run_command() {
    local folder=$TMPDIR/run.$1 command output status=0
    mkdir "$folder"
    cp -rl "$inputs/." "$folder" # a capture is no symbolic link
    command=$(adapt "$3")
    for output in $(list_outputs "$command"); do
        rm -f "$folder/$output"
    done
    [[ $command != *'stackwide record'* ]] || rm -f "$folder"/stackwide-*.html
    (cd "$folder" && exec timeout -k 5 120 bash -o pipefail -c "$command") >"$folder.out" 2>&1 || status=$?
    if ((status == 4)) && [[ $command =~ $may_be_refused ]]; then
        echo "refused $2: $3"
        return
    fi
    if ((status)); then
        echo "FAIL $2: status $status: $command: $(tail -n 3 "$folder.out")"
        return
    fi
    for output in $(list_outputs "$command"); do
        # With --flush the file has a number.
        [[ $command != *--flush* ]] || output=${output/./.1.}
        [[ -s $folder/$output ]] || echo "FAIL $2: $output is missing: $command"
    done
    if [[ $command = *'stackwide record'* && $command != *' -o '* ]]; then
        compgen -G "$folder/stackwide-*.html" >/dev/null || echo "FAIL $2: no page was written: $command"
    fi
    [[ -s $folder.out || -n $(list_outputs "$command") || $command = *@(record|view|capture)* ]] ||
        echo "FAIL $2: it prints nothing: $command"
    echo "ok $2: $3"
}

number=0
list_commands | awk -F'\t' '!seen[$2]++' >"$TMPDIR/commands"
while IFS=$'\t' read -r place command; do
    number=$((number + 1))
    while (($(jobs -rp | wc -l) >= num_loads + lanes)); do
        wait -n || true
    done
    run_command $number "$place" "$command" >"$TMPDIR/verdict.$number" &
done <"$TMPDIR/commands"
while (($(jobs -rp | wc -l) > num_loads)); do
    wait -n || true
done
cat "$TMPDIR"/verdict.* | sort >"$TMPDIR/verdicts"
grep -v '^ok' "$TMPDIR/verdicts" || true
((number >= 60)) || fail "only $number commands were found"
(($(grep -c '^ok' "$TMPDIR/verdicts") >= number / 2)) || fail "most commands were not run"
! grep -q '^FAIL' "$TMPDIR/verdicts" || fail "$(grep -c '^FAIL' "$TMPDIR/verdicts") of $number commands fail: $(grep -m 1 '^FAIL' "$TMPDIR/verdicts")"
