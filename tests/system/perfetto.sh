# shellcheck shell=bash
# Questions to Perfetto's own trace processor, for the tests of traces.

TRACE_PROCESSOR=$(dirname "$STACKWIDE")/trace-processor

need_trace_processor() {
    local reason
    need_command node
    (($(node -p 'process.versions.node.split(".")[0]') >= 20)) || skip "needs node 20 or newer"
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
    node "$REPO/tests/perfetto/query.mjs" "$TRACE_PROCESSOR" "$1" ${QUERIES[@]+"${QUERIES[@]}"} \
        >"$TMPDIR/rows" || fail "the trace processor refuses $1"
    if ((${#QUERIES[@]})); then
        diff -U 100 "$TMPDIR/expected_rows" "$TMPDIR/rows" ||
            fail "the trace processor gives other rows (+) for $1"
    fi
}

# Slices with their track's name and its parent's.
# shellcheck disable=SC2034 # used by the tests
SLICES="(select slice.*, track.name as track, parent.name as parent_track
    from slice join track on track.id = slice.track_id
    left join track parent on parent.id = track.parent_id)"
