# Figures of the benchmarks, and the goals that judge them. Sourced by them.
#
#   BENCH_ROWS=PATH    absolute; each figure is added to it, for tests/bench/goals and scripts/readme-figures: a line of bench, row, unit,
#                      ours, the peer's, ratio, goal and verdict, with tabs between; "-" is what there is not
# shellcheck shell=bash

num_goals=0 missed=()
verdict='' # of the last figure that was judged: met, MISSED; nothing where there is no goal

# Ours divided by the peer's, in $ratio; - where one is missing.
set_ratio() {
    ratio=-
    [[ $1 = - || $2 = - ]] || ratio=$(awk "BEGIN { printf \"%.3f\", ($2 > 0 ? $1 / $2 : 0) }")
}

# judge WHAT OURS RATIO GOAL
#
# GOAL: "at most N …" or "at least N …" of OURS, "ratio at most N"; anything else is not judged
judge() {
    local value=$2 number is_missed
    verdict=''
    [[ $4 != ratio* ]] || value=$3
    [[ $4 =~ ^(ratio\ )?at\ (most|least)\ ([0-9]+(\.[0-9]+)?) && $value != - ]] || return 0
    number=${BASH_REMATCH[3]}
    [[ ${BASH_REMATCH[2]} = most ]] && is_missed="$value > $number" || is_missed="$value < $number"
    num_goals=$((num_goals + 1))
    verdict=met
    if awk "BEGIN { exit !($is_missed) }"; then
        verdict=MISSED
        missed+=("$1")
    fi
}

# keep WHAT UNIT OURS PEERS GOAL: judge the figure, and add it to the file of all. Sets ratio and verdict.
keep() {
    set_ratio "$3" "$4"
    judge "$1" "$3" "$ratio" "$5"
    [[ -z ${BENCH_ROWS:-} ]] ||
        printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "${0##*/}" "$1" "${2:--}" "$3" "$4" "$ratio" "${5:--}" "${verdict:--}" >>"$BENCH_ROWS"
}

# What a table says behind a goal.
show_miss() { [[ $verdict != MISSED ]] || echo ' MISSED'; }

print_missed() {
    printf '\n%d of %d goals missed\n' "${#missed[@]}" "$num_goals"
    ((${#missed[@]} == 0)) || printf '  %s\n' "${missed[@]}"
}
