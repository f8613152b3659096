# shellcheck shell=bash
# For tests of stacks that programs mount by themselves, after lib.sh and perfetto.sh: what a trace with
# scheduling says of them against what the program says.

# The region of each stack has its bounds. Each sample inside FRAME, a glob of a function that runs on the stacks, is
# in an occupancy of its stack by its thread, which lasts until the thread's next sample. Only samples show who is on
# a stack, and the machine decides how late the first one is. Frames that FRAME calls and that match OTHER run on
# another stack, such as the scheduler of Go. The fill is that of the stack within a page (and what the innermost function
# used). FILE has a line of the program a turn: "BEGIN END HIGH LOW TID BOTTOM"; two turns of 300 ms for each stack.
# expect_mounted FILE FRAME [OTHER]
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
    TRUTH="with recursive turns(stack, b, e, tid) as (values $turns), names(stack, name) as (values $names),
        depths(stack, bytes) as (values $depths)"
    # There are about 1,200 samples of a stack; a busy host withholds some ticks.
    expect_rows "$TRUTH, frames as materialized (select c.id, c.parent_id, f.name
            from stack_profile_callsite c join stack_profile_frame f on f.id = c.frame_id),
        inside(id) as (select id from frames where name glob '$2' union select frames.id from inside
            join frames on frames.parent_id = inside.id where frames.name not glob '${3:-}'),
        mounts as materialized (select n.stack, s.ts as b, s.ts + s.dur as e, s.name
            from $SLICES s join names n on n.name = s.track where s.parent_track = 'Stacks'),
        samples as materialized (select t.stack, t.tid, p.ts, p.callsite_id in inside as is_inside,
                ifnull(lead(p.ts) over (partition by t.tid, t.b order by p.ts), p.ts) as until
            from turns t join thread using(tid) join perf_sample p using(utid) where p.ts between t.b and t.e)
        select count(*), sum(inside > 100), sum(inside - mounted) from (
            select sum(is_inside) as inside, sum(is_inside and exists (select 1 from mounts m where m.stack = s.stack
                and m.name like '% [' || s.tid || ']' and m.b <= s.ts and s.until <= m.e)) as mounted
            from samples s group by stack)" <<END
${#lowest[@]}|${#lowest[@]}|0
END
    expect_rows "$TRUTH select count(*), sum(fill between bytes - 4096 and bytes + 4096 + 1024) from (
            select bytes, (select max(value) from counter c join track t on t.id = c.track_id
                join track region on region.id = t.parent_id join names n on n.name = region.name
                where t.name = 'fill' and n.stack = d.stack) as fill from depths d)" <<END
${#lowest[@]}|${#lowest[@]}
END
}
