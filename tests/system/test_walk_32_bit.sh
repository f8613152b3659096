#!/bin/bash
# A 32-bit program: its functions have their names, its stacks go as far as calls prove it, be there
# frame pointers or not, and the account says why they are cut.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording
need_command gcc

# Without any library: those of 32 bits are not on every machine.
cat >"$TMPDIR/program.c" <<'END'
static inline __attribute__((always_inline)) void call(int number, int argument)
{
	int result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(argument) : "memory");
}

#define OWN __attribute__((noinline, noclone))

OWN void leaf(void)
{
	for (volatile int i = 0; i < 1000000; i++)
		;
}

OWN void enters_kernel(void)
{
	for (volatile int i = 0; i < 100; i++)
		call(20 /* getpid */, 0);
}

OWN void middle(void)
{
	leaf();
	enters_kernel();
	__asm__ volatile("");
}

OWN void by_pointer(void (*volatile function)(void))
{
	function();
	__asm__ volatile("");
}

void _start(void)
{
	for (volatile int i = 0; i < 200; i++) {
		middle();
		by_pointer(leaf);
	}
	call(1 /* exit */, 0);
}
END

# check NAME OPTION ALLOWED...: each stack without its kernel part is one of those allowed
check() {
    local name=$1 folded=$TMPDIR/$1.folded stats=$TMPDIR/$1.json samples cut
    gcc -m32 -O1 -static -nostdlib -fno-stack-protector -fno-pie -no-pie -fcf-protection=none "$2" \
        -o "$TMPDIR/$name" "$TMPDIR/program.c" 2>"$TMPDIR/gcc.err" ||
        skip "gcc does not compile for 32 bits (package gcc-multilib): $(head -n 1 "$TMPDIR/gcc.err")"
    "$TMPDIR/$name" || skip "this kernel does not run 32-bit programs"
    shift 2
    record -F 999 -o "$folded" --stats "$stats" -- "$TMPDIR/$name"
    samples=$(stats_get "$stats" samples)
    cut=$(stats_get "$stats" user_stacks.truncated.32_bit)
    echo "$name: $samples samples, $cut cut"
    expect_account_adds_up "$stats"
    ((samples >= 100 && cut >= samples - 5)) ||
        fail "$cut of $samples stacks are said to be of a 32-bit program"
    grep -q "of 32-bit programs" "$TMPDIR/record.err" || fail "the summary does not say it"
    grep "^$name;\[truncated\];" "$folded" | sed -E 's/ [0-9]+$//; s/;[^;]*_\[k\].*//' | sort -u \
        >"$TMPDIR/stacks"
    cat "$TMPDIR/stacks"
    printf "$name;[truncated];%s\n" "$@" | sort >"$TMPDIR/allowed"
    [[ -z $(comm -23 "$TMPDIR/stacks" "$TMPDIR/allowed") ]] ||
        fail "stacks that cannot be: $(comm -23 "$TMPDIR/stacks" "$TMPDIR/allowed")"
}

check with_fp -fno-omit-frame-pointer \
    leaf _start 'middle;leaf' '_start;middle;leaf' '_start;middle;enters_kernel' \
    'middle;enters_kernel' enters_kernel '_start;middle' middle '_start;by_pointer' by_pointer
grep -q ';_start;middle;leaf' "$TMPDIR/with_fp.folded" || fail "callers that calls prove are missing"
check without_fp -fomit-frame-pointer leaf _start middle enters_kernel by_pointer \
    '_start;middle;leaf' 'middle;leaf'
