#!/bin/bash
# Code that no call-frame information describes and that keeps no frame pointers is walked by rules
# that its instructions give.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

record -F 499 -o "$TMPDIR/undescribed.folded" -- "$WORKLOADS/nofp_undescribed" 1
expect_between "share of the whole chain" \
    "$(folded_share "$TMPDIR/undescribed.folded" "main;outer;roomy;innermost" innermost)" 99 100
expect_frame "$TMPDIR/undescribed.folded" innermost 200

# Assembly that aligns its stack, and finds it again by a copy of the stack pointer.
record -F 499 -o "$TMPDIR/aligned.folded" -- "$WORKLOADS/nofp_asm_aligned" 1
while read -r chain within; do
    expect_between "share of $chain" "$(folded_share "$TMPDIR/aligned.folded" "$chain" "$within")" 99 100
    expect_frame "$TMPDIR/aligned.folded" "$within" 40
done <<'END'
main;call_stored;asm_stored;work asm_stored
main;call_in_register;asm_in_register;turn turn
main;call_in_r12;asm_in_r12 asm_in_r12
main;call_in_rbx;asm_in_rbx;work asm_in_rbx
main;call_chained;asm_chained asm_chained
END

# All of musl is such code, also what its signal handlers return to.
command -v musl-gcc >/dev/null || skip "no musl-gcc (musl-tools): programs of musl are not recorded"
cat >"$TMPDIR/musl.c" <<'END'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static volatile int num_signals;

static void on_timer(int number)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 500;

	while (clock() < end)
		num_signals += number;
}

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

int main(void)
{
	static int numbers[2000];
	static char text[4096];
	volatile double sum = 0;
	struct itimerval timer = {{0, 10000}, {0, 10000}};

	signal(SIGALRM, on_timer);
	setitimer(ITIMER_REAL, &timer, NULL);
	while (clock() < CLOCKS_PER_SEC) {
		for (int i = 0; i < 2000; i++)
			numbers[i] = rand();
		qsort(numbers, 2000, sizeof(int), compare);
		for (int i = 0; i < 200; i++) {
			snprintf(text, sizeof(text), "%d %f", numbers[i], numbers[i] / 3.0);
			sum += strtod(text, NULL);
			memcpy(text + 2048, text, 2048);
		}
	}
	timer = (struct itimerval){0}; /* exit() has no main */
	setitimer(ITIMER_REAL, &timer, NULL);
	return 0;
}
END
for kind in dynamic static stripped; do
    options=()
    [[ $kind = dynamic ]] || options=(-static)
    [[ $kind = stripped ]] && options+=(-s)
    musl-gcc -O2 "${options[@]}" -o "$TMPDIR/$kind" "$TMPDIR/musl.c" || fail "musl-gcc failed"
    record -F 499 -o "$TMPDIR/$kind.folded" --stats "$TMPDIR/$kind.json" -- "$TMPDIR/$kind"
    complete=$(stats_get "$TMPDIR/$kind.json" user_stacks.complete)
    samples=$(stats_get "$TMPDIR/$kind.json" samples)
    expect_between "share of complete stacks, $kind" $((100 * complete / samples)) 97 100
    [[ $kind != stripped ]] || continue # it has no main
    expect_frame "$TMPDIR/$kind.folded" on_timer 30
    # None is called complete that lacks a frame, but those from before main was called.
    lacking=$(awk '!/;\[truncated\];|;main[; ]|_\[k\] [0-9]+$/ { lacking += $NF } END { print lacking + 0 }' \
        "$TMPDIR/$kind.folded")
    ((lacking <= 5)) || fail "$lacking stacks of $kind count as complete without main"
    expect_between "share of stacks with main, $kind" \
        "$(awk '{ n = $NF; all += n } /(^|;)main(;| )/ { with += n } END { print 100 * with / all }' \
            "$TMPDIR/$kind.folded")" 97 100
done
