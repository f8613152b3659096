# shellcheck shell=bash
# Questions to Perfetto's own trace processor, for the tests of traces.
#
# Where TRACES names a folder, traces are kept there with what is expected of them, for a machine
# that has the trace processor (tests/kernels/check_traces).

TRACE_PROCESSOR=$(dirname "$STACKWIDE")/trace-processor

need_trace_processor() {
    local reason
    if [[ -n ${TRACES:-} ]]; then
        rm -rf "${TRACES:?}/$(basename "$0" .sh)"
        return
    fi
    need_command node
    (($(node -p 'process.versions.node.split(".")[0]') >= 18)) || skip "needs node 18 or newer (package nodejs)"
    reason=$("$REPO/tests/perfetto/fetch" "$TRACE_PROCESSOR") || {
        (($? == 77)) && skip "$reason"
        fail "the trace processor could not be fetched"
    }
}

# Queries and the rows that they must give; asked all together, because loading takes long.
QUERIES=()

# expect_rows SQL: the rows, fields separated by '|', are on standard input.
expect_rows() {
    QUERIES+=("$1")
    { echo "-- $1" && cat; } >>"$TMPDIR/expected_rows"
}

# Ask everything that is expected; the trace must also be without error and loss of data.
# check_trace TRACE
check_trace() {
    if [[ -n ${TRACES:-} ]]; then
        keep_trace "$1"
        return
    fi
    node "$REPO/tests/perfetto/query.mjs" "$TRACE_PROCESSOR" "$1" ${QUERIES[@]+"${QUERIES[@]}"} \
        >"$TMPDIR/rows" || fail "the trace processor refuses $1"
    if ((${#QUERIES[@]})); then
        diff -U 8 "$TMPDIR/expected_rows" "$TMPDIR/rows" ||
            fail "the trace processor gives other rows (+) for $1"
    fi
}

# keep_trace TRACE
keep_trace() {
    local folder
    mkdir -p "$TRACES/$(basename "$0" .sh)"
    folder=$(mktemp -d "$TRACES/$(basename "$0" .sh)/trace.XXXXXX")
    cp "$1" "$folder/trace.pftrace"
    ((${#QUERIES[@]} == 0)) || {
        printf '%s\0' "${QUERIES[@]}" >"$folder/queries"
        cp "$TMPDIR/expected_rows" "$folder/"
    }
}

# check_kept_trace FOLDER
check_kept_trace() {
    QUERIES=()
    [[ ! -f $1/queries ]] || {
        mapfile -d '' -t QUERIES <"$1/queries"
        cp "$1/expected_rows" "$TMPDIR/"
    }
    check_trace "$1/trace.pftrace"
}

# Slices with their track's name and its parent's.
# shellcheck disable=SC2034 # used by the tests
SLICES="(select slice.*, track.name as track, parent.name as parent_track
    from slice join track on track.id = slice.track_id
    left join track parent on parent.id = track.parent_id)"
