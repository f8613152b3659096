#!/bin/bash
# Stacks of threads that musl or the program itself has made are whole: they end in the code behind the system call, which
# only the new thread executes.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording
[[ $(uname -m) = x86_64 ]] || skip "such code is recognized on x86-64 only"

record_walk nofp_raw_clone 0.9
folded=$TMPDIR/nofp_raw_clone.folded
expect_every_stack "$folded" ';burn_part[; ]' '^nofp_raw_clone;start_(cleared|popped|described);run_part;burn_part[; ]'
for start in start_cleared start_popped start_described; do
    whole=$(folded_match "$folded" "^nofp_raw_clone;$start;run_part;burn_part[; ]")
    echo "$whole samples of $start"
    ((whole >= 100)) || fail "only $whole samples of threads that $start has made, expected at least 100"
done

command -v musl-gcc >/dev/null || skip "no musl-gcc (musl-tools): programs of musl are not recorded"
cat >"$TMPDIR/threads.c" <<'END'
#include <pthread.h>
#include <time.h>

static volatile int num_returns;

static __attribute__((noinline)) void burn(void)
{
	for (volatile int i = 0; i < 3000000; i++)
		;
	num_returns++;
}

static __attribute__((noinline)) void call_burn(void)
{
	burn();
	num_returns++;
}

static void *run_thread(void *context)
{
	call_burn();
	return context;
}

int main(void)
{
	while (clock() < CLOCKS_PER_SEC / 2) {
		pthread_t threads[2];

		for (int i = 0; i < 2; i++)
			if (pthread_create(&threads[i], NULL, run_thread, NULL))
				return 1;
		for (int i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
	}
	return 0;
}
END
# A system call in stripped code without frame pointers ends its stack: threads are made rarely.
for program in dynamic static stripped; do
    options=()
    [[ $program = dynamic ]] || options=(-static)
    [[ $program != stripped ]] || options+=(-s)
    musl-gcc -O2 "${options[@]}" -o "$TMPDIR/$program" "$TMPDIR/threads.c" || fail "musl-gcc failed"
    record -F 999 --no-inline -o "$TMPDIR/$program.folded" --stats "$TMPDIR/$program.json" -- "$TMPDIR/$program"
    expect_account_adds_up "$TMPDIR/$program.json"
    stuck=$(stats_get "$TMPDIR/$program.json" user_stacks.truncated.stuck)
    ((stuck == 0)) || fail "$stuck stacks of $program do not reach an outermost frame: $(grep -F '[truncated]' "$TMPDIR/$program.folded")"
    expect_whole "$TMPDIR/$program.folded" "$TMPDIR/$program.json" "$program" 95
    [[ $program != stripped ]] || continue
    # Two functions of musl precede: __clone, and the one that it calls.
    expect_every_stack "$TMPDIR/$program.folded" ';burn[; ]' "^$program;[^;]+;[^;]+;run_thread;call_burn;burn[; ]"
    expect_frame "$TMPDIR/$program.folded" burn 100
done
