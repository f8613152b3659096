#!/bin/bash
# --alloc and --live follow allocators in files that are mapped after the start: a static program, one with a libc of its own,
# a library that is preloaded, one that is loaded late. From the moment on that the recorder reports with -v, each byte counts. Each
# program waits for that.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
[[ -e /sys/bus/event_source/devices/uprobe ]] || skip "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)"

load=$WORKLOADS/allocations
# Guests have no ldd.
libc=$(grep -m 1 -o '/[^ ]*/libc\.so[^ ]*' "/proc/$$/maps")
[[ -e $libc ]] || skip "the shell has no libc in a file"
if ! "$STACKWIDE" record --alloc -c 1 -o "$TMPDIR/first.folded" -- "$load" 1 2>"$TMPDIR/err"; then
    ! grep -q 'needs Linux 5.15' "$TMPDIR/err" || skip "this kernel does not tell a program which of its probes was hit"
    fail "record --alloc: $(cat "$TMPDIR/err")"
fi
mkdir "$TMPDIR/later"
cp "$libc" "$TMPDIR/later/"
cp "$load" "$TMPDIR/later/allocations_dyn"
mkfifo "$TMPDIR/go"
exec 3<>"$TMPDIR/go"

follows() {
    kill -0 "$RECORDER" 2>/dev/null || fail "the recording ended before it followed $1"
    grep -qE "allocations of [^ ]*$1 count from" "$TMPDIR/record.err"
}

# What the recording says of allocators that came later: so many are followed, and all the others of them.
# expect_later STATS FOLLOWED
expect_later() {
    local followed missed
    followed=$(stats_get "$1" processes.followed_allocators)
    missed=$(stats_get "$1" processes.late_allocators)
    [[ $followed = "$2" && $missed = 0 ]] || fail "$followed followed and $missed missed, expected $2 and 0"
    [[ $(stats_get "$1" processes.unsearched_files) = 0 ]] || fail "files were not looked into"
    if (($2)); then
        (($(stats_get "$1" processes.follow_delay_ns) > 0)) || fail "no time from the mapping to the probes"
        grep -q 'with an allocator was mapped after the start' "$TMPDIR/record.err" || fail "the summary does not tell what is missing"
    else
        ! grep -q 'mapped after the start' "$TMPDIR/record.err" || fail "a warning without a reason"
    fi
}

# Run a script after the start, which runs a program of the folder "later" that reads a byte of fd 3 before it allocates.
# run_later FILE OUTPUT WAY SCRIPT: FILE is the one with the allocator. The script is no word of the command that is a file.
run_later() {
    start_recording "$3" -c 1 --buffer-size 64M -o "$2.folded" --stats "$2.json" -- \
        bash -c "cd '$TMPDIR/later'; $4" 3>&-
    wait_until follows "$1"
    echo >&3
    end_recording
    expect_later "$2.json" 1
    expect_account_adds_up "$2.json"
    [[ $(stats_get "$2.json" lost) = 0 ]] || fail "samples are lost: $(cat "$2.json")"
}

# The bytes of all functions of so many rounds of "each". A libc allocates, too, when a program starts.
# expect_each FOLDED ROUNDS
expect_each() {
    local wanted=$(($2 * (1000 + 2 * 1700 + (1 << 20) + 1100 + 1200 + 1300 + 1400 + 1536 + 1600))) got
    got=$(folded_match "$1" '^allocations.*;main;')
    [[ $got = "$wanted" ]] || fail "$1: $got bytes, expected $wanted"
}

if [[ -x ${load}_static ]]; then
    cp "${load}_static" "$TMPDIR/later/allocations_own"
    # The second program is the same file.
    run_later allocations_own "$TMPDIR/static" --alloc \
        "./allocations_own each 100 wait <../go; ./allocations_own each 50; :"
    expect_each "$TMPDIR/static.folded" 150

    # Memory of before is freed without being counted; live memory is never less than what leaks.
    run_later allocations_own "$TMPDIR/live" --live "exec ./allocations_own leak 1000 wait <../go"
    live=$(folded_match "$TMPDIR/live.folded" '^allocations.*;leak;')
    [[ $live = 2000000 ]] || fail "$live bytes leak, expected 2000000"
    cached=$(folded_match "$TMPDIR/live.folded" '^allocations.*;by_cache;')
    [[ $cached = 64000 ]] || fail "$cached bytes are in a cache, expected 64000"
    grown=$(folded_match "$TMPDIR/live.folded" '^allocations.*;by_growth;')
    [[ $grown = 64000 ]] || fail "$grown bytes have grown, expected 64000"
    dropped=$(folded_match "$TMPDIR/live.folded" '^allocations.*;(parse|index_words|log_line);')
    [[ $dropped = 0 ]] || fail "$dropped bytes are live, but were freed"
else
    echo "no static libc here: programs that have their allocator in themselves were not seen"
fi

# A libc of its own.
run_later libc.so.6 "$TMPDIR/own" --alloc 'LD_LIBRARY_PATH=. exec ./allocations_dyn each 100 wait <../go'
expect_each "$TMPDIR/own.folded" 100

# A library with an allocator, preloaded, and loaded late.
cat >"$TMPDIR/own.c" <<'SOURCE'
#include <stddef.h>
static char memory[1 << 20] __attribute__((aligned(16)));
static size_t used;
__attribute__((noinline)) void *malloc(size_t size)
{
	char *taken = memory + used % (sizeof(memory) / 2);

	used += (size + 15) & ~(size_t)15;
	return taken;
}
void free(void *taken)
{
	(void)taken;
}
SOURCE
cat >"$TMPDIR/loads.c" <<'SOURCE'
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void *(*volatile allocate)(size_t) = library ? (void *(*)(size_t))dlsym(library, "malloc") : malloc;
	char byte;

	if (!allocate || read(STDIN_FILENO, &byte, 1) != 1)
		return 1;
	for (int i = 0; i < 1000; i++)
		(void)!allocate(100);
	return 0;
}
SOURCE
if command -v cc >/dev/null && cc -O1 -fno-builtin -shared -fPIC -o "$TMPDIR/later/libown.so" "$TMPDIR/own.c" &&
    cc -O1 -fno-builtin -o "$TMPDIR/later/allocations_lib" "$TMPDIR/loads.c" -ldl; then
    run_later libown.so "$TMPDIR/preloaded" --alloc 'LD_PRELOAD=./libown.so exec ./allocations_lib <../go'
    got=$(folded_match "$TMPDIR/preloaded.folded" '^allocations.*;main;malloc ')
    [[ $got = 100000 ]] || fail "$got bytes of a preloaded allocator, expected 100000"
    run_later libown.so "$TMPDIR/loaded" --alloc 'exec ./allocations_lib ./libown.so <../go'
    got=$(folded_match "$TMPDIR/loaded.folded" '^allocations.*;main;malloc ')
    [[ $got = 100000 ]] || fail "$got bytes of an allocator that is loaded late, expected 100000"
else
    echo "no compiler here: libraries with an allocator were not seen"
fi
exec 3>&-

# What was probed at the start is no later allocator.
# shellcheck disable=SC2016 # the inner shell's
for way in --alloc --live; do
    record "$way" -c 1 --buffer-size 64M -o "$TMPDIR/x.folded" --stats "$TMPDIR/x.json" -- \
        sh -c '"$0" each 10; exec "$0" each 10' "$load"
    expect_later "$TMPDIR/x.json" 0
done
