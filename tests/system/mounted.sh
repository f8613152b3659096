# shellcheck shell=bash
# For tests of stacks that programs mount by themselves, after lib.sh and perfetto.sh: what a trace with
# scheduling says of them against what the program says.

# The region of each stack has the bounds of it and its thread on it for 99 % of the time that the
# thread ran while the stack was mounted: a thread that waits for a CPU is not sampled, so that who comes to a
# stack and must wait is seen there late. The fill is that of the stack within a page (and what the innermost
# function used). A line of the program a turn: "BEGIN END HIGH LOW TID BOTTOM"; two turns of 300 ms for each stack.
# expect_mounted FILE
expect_mounted() {
    local begin end high low tid bottom stack
    local turns="" names="" depths=""
    declare -A lowest=() bottoms=()
    while read -r begin end high low tid bottom; do
        turns+="${turns:+, }($high, $begin, $end, $tid)"
        lowest[$high]=$low
        bottoms[$high]=$bottom
    done <"$1"
    for stack in "${!lowest[@]}"; do
        depths+="${depths:+, }($stack, $((stack - lowest[$stack])))"
        # Of stacks that do not begin with a page: the outermost frame is a little below the end.
        bottom=$((bottoms[$stack] & ~4095))
        names+="${names:+, }($stack, '$(printf 'stack 0x%x, %d KiB' "${bottoms[$stack]}" $(((stack - bottoms[$stack]) >> 10)))')"
        ((bottom == bottoms[$stack])) ||
            names+=", ($stack, '$(printf 'stack 0x%x, %d KiB' "$bottom" $((((stack - 512 + 4095) & ~4095) - bottom >> 10)))')"
    done
    TRUTH="with turns(stack, b, e, tid) as (values $turns), names(stack, name) as (values $names),
        depths(stack, bytes) as (values $depths)"
    # A busy machine gives many slices: each is looked at once, not once for each question.
    expect_rows "$TRUTH, ran as materialized (select t.stack, t.tid, max(s.ts, t.b) as b, min(s.ts + s.dur, t.e) as e
            from turns t join thread using(tid) join sched s using(utid) where s.ts < t.e and s.ts + s.dur > t.b),
        mounts as materialized (select n.stack, s.ts as b, s.ts + s.dur as e, s.name
            from $SLICES s join names n on n.name = s.track where s.parent_track = 'Stacks'),
        covered as (select r.stack, r.e - r.b as mounted, coalesce((
            select sum(min(m.e, r.e) - max(m.b, r.b)) from mounts m where m.stack = r.stack
                and m.name like '% [' || r.tid || ']' and m.b < r.e and m.e > r.b), 0) as seen from ran r)
        select count(*), sum(ran > 500e6), sum(share >= 0.99) from (
            select sum(mounted) as ran, 1.0 * sum(seen) / sum(mounted) as share from covered group by stack)" <<END
${#lowest[@]}|${#lowest[@]}|${#lowest[@]}
END
    expect_rows "$TRUTH select count(*), sum(fill between bytes - 4096 and bytes + 4096 + 1024) from (
            select bytes, (select max(value) from counter c join track t on t.id = c.track_id
                join track region on region.id = t.parent_id join names n on n.name = region.name
                where t.name = 'fill' and n.stack = d.stack) as fill from depths d)" <<END
${#lowest[@]}|${#lowest[@]}
END
}
