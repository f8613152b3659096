# shellcheck shell=bash
# What every system test sources: verdicts, recordings, numbers out of their results.
#
# The runner gives STACKWIDE (the program), WORKLOADS (folder of the workload programs) and a
# fresh TMPDIR, which it removes afterwards.
set -euo pipefail
export LC_ALL=C

REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BACKGROUND=()

# A test that cannot be done here: the reason is the last line, the status 77.
skip() {
    echo "$*"
    exit 77
}

# The reason, after what the last recording said.
fail() {
    if [[ -s $TMPDIR/record.err ]]; then
        tail -n 50 "$TMPDIR/record.err" | sed 's/^/  record: /'
    fi
    echo "FAILED: $*"
    exit 1
}

stop_background() {
    local pid
    for pid in ${BACKGROUND[@]+"${BACKGROUND[@]}"}; do
        kill -KILL "$pid" 2>/dev/null || true
    done
    BACKGROUND=()
}
trap stop_background EXIT

# Start a program that is stopped at the end of the test; its pid is left in PID.
start() {
    "$@" &
    PID=$!
    BACKGROUND+=("$PID")
}

# Debian's packages of programs that are called otherwise.
declare -A PACKAGE_OF=([callgrind_annotate]=valgrind [cc]=gcc [clang++]=clang [dh]=debhelper
    [dpkg-buildpackage]=dpkg-dev [gprofng]=binutils [go]=golang-go [java]=default-jdk-headless
    [javac]=default-jdk-headless [ld.lld]=lld [nm]=binutils [node]=nodejs [nsenter]=util-linux
    [objcopy]=binutils [perf]=linux-perf [protoc]=protobuf-compiler [readelf]=binutils [rpmbuild]=rpm
    [script]=bsdutils [setcap]=libcap2-bin [setarch]=util-linux [setpriv]=util-linux [setsid]=util-linux [strip]=binutils
    [systemd-nspawn]=systemd-container [unshare]=util-linux [xz]=xz-utils)

need_command() {
    command -v "$1" >/dev/null || skip "needs $1 (package ${PACKAGE_OF[$1]:-$1}), which is not installed"
}

# Recording needs root, BTF and a kernel that takes our BPF. Asked of bpftool, not of the program
# under test: a broken program must not look like a machine that cannot record.
need_recording() {
    [[ $(id -u) = 0 ]] || skip "needs root"
    [[ -r /sys/kernel/btf/vmlinux ]] || skip "this kernel has no BTF (/sys/kernel/btf/vmlinux)"
    PATH=$PATH:/usr/sbin:/sbin bpftool prog show >/dev/null 2>&1 ||
        skip "BPF is not permitted here (bpftool prog show fails)"
}

# Record, and fail the test when that fails. What it said is left in $TMPDIR/record.err.
record() {
    local status=0
    "$STACKWIDE" record "$@" 2>"$TMPDIR/record.err" || status=$?
    if ((status)); then
        fail "record $* ended with status $status"
    fi
}

# Whether a process has got so far that it runs the program of this name.
# runs_program PID NAME
runs_program() { [[ $(cat "/proc/$1/comm") = "$2" ]]; }

# The tid of a process's thread of this name.
# find_thread PID NAME
find_thread() { grep -l "^$2\$" "/proc/$1"/task/*/comm | cut -d/ -f5; }
has_thread() { [[ -n $(find_thread "$@") ]]; }

# Record in the background until stop_recording; returns once it samples, which it says with -v (so no
# -q here). Its own pid is left in RECORDER. Bash starts background jobs deaf to Ctrl-C, hence env.
start_recording() {
    : >"$TMPDIR/record.err"
    start env --default-signal=INT "$STACKWIDE" record -v "$@" 2>"$TMPDIR/record.err"
    RECORDER=$PID
    wait_until has_begun
}

# Whether the recording of $TMPDIR/record.err samples.
has_begun() {
    local has_ended=
    kill -0 "$RECORDER" 2>/dev/null || has_ended=1
    grep -q '^stackwide: debug: sampling' "$TMPDIR/record.err" && return
    [[ -z $has_ended ]] || fail "the recording ended before it began"
    return 1
}

# fewer NUMBER: how often a load is to run; not as often in guests, where all takes some ten times as long
fewer() { echo $(($1 / ${LOAD_DIVISOR:-1})); }

# Whether a test leaves out the parts for which another part of it stands: in the gate's guest, where a recording takes ten
# times as long. `tests/kernels/run --all` leaves out none.
is_brief() { [[ -n ${TEST_BRIEF:-} ]]; }

# Like grep -q, but reads all: what writes into a pipe that ends early is killed, and has failed.
has_line() { grep "$@" >/dev/null; }

# For one that was started without -v: it has its events and, the last thing before it begins, has given up
# rights, where it can.
is_sampling() {
    if ! kill -0 "$1" 2>/dev/null; then
        fail "the recording ended before it began"
    fi
    find "/proc/$1/fd" -lname '*perf_event*' 2>/dev/null | has_line . &&
        ! grep -q '^Seccomp:[[:space:]]*0' "/proc/$1/status" 2>/dev/null
}

stop_recording() {
    kill -INT "$RECORDER"
    end_recording
}

# Wait for a recording that ends by itself.
end_recording() {
    local status=0
    wait "$RECORDER" || status=$?
    if ((status)); then
        fail "the recording ended with status $status"
    fi
}

# expect_status STATUS COMMAND…: its standard output goes to $TMPDIR/out, its errors to $TMPDIR/err.
expect_status() {
    local wanted=$1 status=0
    shift
    "$@" >"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
    if ((status != wanted)); then
        cat "$TMPDIR/out" "$TMPDIR/err"
        fail "status $status, expected $wanted: $*"
    fi
}

# expect_refused STATUS MESSAGE OPTION…: a recording with these options ends so, says that in a line, and writes nothing.
expect_refused() {
    local status=0 wanted=$1 message=$2
    shift 2
    "$STACKWIDE" record -o "$TMPDIR/no.folded" "$@" -- true 2>"$TMPDIR/err" || status=$?
    ((status == wanted)) || fail "'$*' ended with $status, expected $wanted: $(cat "$TMPDIR/err")"
    grep -qF -- "$message" "$TMPDIR/err" || fail "'$*' said: $(cat "$TMPDIR/err")"
    [[ $(grep -c . "$TMPDIR/err") = 1 && ! -e $TMPDIR/no.folded ]] || fail "'$*' said more than a line, or wrote a file"
}

# Wait until a command succeeds; a minute at most, for machines with much else to do.
wait_until() {
    local end=$((SECONDS + 60))
    while ((SECONDS < end)); do
        "$@" && return
        sleep 0.05
    done
    fail "never happened: $*"
}

# Sum of the samples whose stack holds FRAME, alone or as the end of a path: "main;burn_60" wants
# these two next to each other. WITHIN: count only stacks that hold this frame too.
# folded_count FILE FRAME [WITHIN]
folded_count() {
    FRAME=$2 WITHIN=${3:-} awk '
    {
        stack = $0
        sub(/ [0-9]+$/, "", stack)
        stack = ";" stack ";"
        if (index(stack, ";" ENVIRON["FRAME"] ";") &&
            (ENVIRON["WITHIN"] == "" || index(stack, ";" ENVIRON["WITHIN"] ";")))
            sum += $NF
    }
    END { printf "%.0f\n", sum }' "$1"
}

# Sum of the samples of the lines that match an extended regular expression.
# folded_match FILE REGEX
folded_match() {
    { grep -E -- "$2" "$1" || true; } | folded_total /dev/stdin
}

folded_total() {
    awk '{ sum += $NF } END { printf "%.0f\n", sum }' "$1"
}

# Percentage of samples whose stack holds FRAME; of those that hold WITHIN, when given.
# folded_share FILE FRAME [WITHIN]
folded_share() {
    local part whole
    part=$(folded_count "$1" "$2" "${3:-}")
    whole=$(if [[ -n ${3:-} ]]; then folded_count "$1" "$3"; else folded_total "$1"; fi)
    awk -v part="$part" -v whole="$whole" 'BEGIN { printf "%.2f\n", whole ? 100 * part / whole : 0 }'
}

# FRAME has SHARE percent of the samples that hold WITHIN, as far as so many samples can tell: five standard
# deviations, which chance exceeds less than once in a million times, and one percent, for what a program
# does besides. With TICKS, the number of samples that the program's CPU time should have made: those that
# never came may have been in any function, as an emulated machine that does not run itself makes none; so
# they count for it and against it, but a quarter of all must be there.
# expect_share FILE FRAME WITHIN SHARE [TICKS]
expect_share() {
    local part whole bounds
    part=$(folded_count "$1" "$2" "$3")
    whole=$(folded_count "$1" "$3")
    ((whole >= 30)) || fail "only $whole samples hold '$3', too few to tell the share of '$2'"
    bounds=$(awk -v part="$part" -v whole="$whole" -v share="$4" -v ticks="${5:-0}" '
        BEGIN {
            missing = ticks > whole ? ticks - whole : 0
            low = 100 * part / (whole + missing)
            high = 100 * (part + missing) / (whole + missing)
            margin = 500 * sqrt(share / 100 * (1 - share / 100) / whole) + 1
            printf "%.1f ± %.1f", share, margin
            exit !(whole >= ticks / 4 && high >= share - margin && low <= share + margin)
        }') || fail "$part of $whole samples of '$3' hold '$2', expected $bounds %${5:+ of about $5}"
    echo "$part of $whole samples of '$3' hold '$2', expected $bounds %"
}

# expect_near WHAT ACTUAL EXPECTED TOLERANCE
expect_near() {
    awk -v a="$2" -v e="$3" -v t="$4" 'BEGIN { exit !(a >= e - t && a <= e + t) }' ||
        fail "$1 is $2, expected $3 ± $4"
}

# expect_between WHAT ACTUAL LOW HIGH
expect_between() {
    awk -v a="$2" -v l="$3" -v h="$4" 'BEGIN { exit !(a >= l && a <= h) }' ||
        fail "$1 is $2, expected $3 to $4"
}

# expect_frame FILE FRAME [LEAST]: at least LEAST (1) samples hold it.
expect_frame() {
    local count
    count=$(folded_count "$1" "$2")
    if ((count < ${3:-1})); then
        head -n 40 "$1"
        fail "only $count samples hold '$2', expected at least ${3:-1}"
    fi
}

# expect_no_frame FILE FRAME [WITHIN]
expect_no_frame() {
    local count
    count=$(folded_count "$@")
    ((count == 0)) || fail "$count samples hold '$2'${3:+ within $3}, expected none"
}

# Values of a JSON file by their paths, a line each: stats_get FILE lost.ring_full; an object gives
# the sum of its numbers.
# stats_get FILE PATH…
stats_get() {
    python3 -S - "$@" <<'PYTHON'
import json, sys
stats = json.load(open(sys.argv[1]))
for path in sys.argv[2:]:
    value = stats
    for name in path.split("."):
        value = value[int(name) if isinstance(value, list) else name]
    print(sum(value.values()) if isinstance(value, dict) else value)
PYTHON
}

# A number that is worth showing, not only judging; tests/kernels/run collects these.
# figure NAME VALUE
figure() {
    echo "$1: $2"
    [[ -z ${FIGURES:-} ]] || echo "$1 $2" >>"$FIGURES"
}

# fired = idle + filtered + samples + lost, and each sample's user stack has one outcome, from a --stats file.
expect_account_adds_up() {
    python3 -S - "$1" <<'PYTHON' || fail "the account does not add up: $(cat "$1")"
import json, sys
stats = json.load(open(sys.argv[1]))
parts = stats["idle"] + stats["filtered"] + stats["samples"] + sum(stats["lost"].values())
user = stats["user_stacks"]
stacks = user["complete"] + user["in_exec"] + user["kernel_only"] + sum(user["truncated"].values())
# Unless user stacks are not taken.
sys.exit(stats["fired"] != parts or stacks not in (0, stats["samples"]))
PYTHON
}

# fired = filtered + unseen_begin + other_waits + below_min_block + below_period + samples + lost, from the off-CPU part of a --stats file; and
# no wait that was noted weighs nothing.
expect_off_cpu_adds_up() {
    python3 -S - "$1" <<'PYTHON' || fail "the account of the off-CPU time does not add up: $(cat "$1")"
import json, sys
stats = json.load(open(sys.argv[1]))["off_cpu"]
names = ("filtered", "unseen_begin", "other_waits", "below_min_block", "below_period", "samples")
parts = sum(stats[name] for name in names) + sum(stats["lost"].values())
sampled = sum(stats["sampled_ns"].values())
sys.exit(stats["fired"] != parts or sampled % stats["period_ns"] != 0 or
         sampled < stats["samples"] * stats["period_ns"])
PYTHON
}
