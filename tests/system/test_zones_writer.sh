#!/bin/bash
# Programs that write zones with include/stackwide/zones.h: what they say they did is in the file,
# whole and in order, on every thread, across migrations, exceptions and forks.
# runs: beside others
. "$(dirname "$0")/lib.sh"

programs=$(dirname "$WORKLOADS")/programs

# run_zones FILE PROGRAM ARGUMENT…: its output is left in $TMPDIR/out.
run_zones() {
    local file=$1
    shift
    STACKWIDE_ZONES=$file "$@" >"$TMPDIR/out" || fail "$* ended with status $?"
}

# The file has no error, and so many zones of a name in all.
# expect_zones FILE NUMBER
expect_zones() {
    local started ended
    started=$(grep -c '^ZONE_START,' "$1" || true)
    ended=$(grep -c '^ZONE_END,' "$1" || true)
    ((started == $2 && ended == $2)) || fail "$1 begins $started zones and ends $ended, expected $2"
    expect_status 0 "$STACKWIDE" convert "$1" -o "$TMPDIR/again.zones"
    [[ ! -s $TMPDIR/err ]] || fail "reading $1 says: $(cat "$TMPDIR/err")"
}

# Each thread that has zones is named: the producer, and those of the 3 workers that got a job.
# expect_names FILE
expect_names() {
    local named reporting
    named=$(sed -nE 's/^THREAD, *([0-9]+), *"?(producer|worker)"?$/\1/p' "$1" | sort)
    reporting=$(awk -F ', *' '$1 == "ZONE_START" { print $3 }' "$1" | sort -u)
    [[ $named == "$reporting" ]] || fail "in $1 not the threads $reporting are named, but: $(grep '^THREAD' "$1")"
    grep -q '^THREAD,.*producer' "$1" || fail "no producer in $1"
    grep -q '^THREAD,.*worker' "$1" || fail "no worker in $1"
}

for jobs in 3 5000; do
    rm -f "$TMPDIR/threads.zones"
    run_zones "$TMPDIR/threads.zones" "$programs/zones_threads" $jobs
    expect_zones "$TMPDIR/threads.zones" $((3 * jobs))
done
head -n 1 "$TMPDIR/threads.zones" | has_line '^#! process [0-9]* zones_threads' ||
    fail "the file does not say whose it is"
expect_names "$TMPDIR/threads.zones"
grep -q '^STACK,[0-9]*,[0-9]*,"worker"$' "$TMPDIR/threads.zones" || fail "no stack of a worker"
grep -q '^STACK,[0-9]*,[0-9]*,"\[stack\]"$' "$TMPDIR/threads.zones" || fail "no main stack"
(($(grep -c '^COUNTER_VALUE,' "$TMPDIR/threads.zones") == 5000)) || fail "not every count is there"

# Fibers: a zone's begin and end come from different threads' rings.
run_zones "$TMPDIR/fibers.zones" "$programs/zones_fibers" 16 2000
expect_zones "$TMPDIR/fibers.zones" $((16 * 2000 * 4))
python3 - "$TMPDIR/fibers.zones" <<'PYTHON' || fail "no fiber has moved between threads"
import csv, sys
threads = {}
for row in csv.reader(open(sys.argv[1])):
    if row[0] == "ZONE_START":
        threads.setdefault(int(row[1]) >> 16, set()).add(row[2])
sys.exit(not any(len(tids) == 2 for tids in threads.values()))
PYTHON

# Exceptions end zones; parent and child have a file each. %p is the pid.
run_zones "$TMPDIR/cpp.%p" "$programs/zones_cpp"
read -r parent child <"$TMPDIR/out"
cp "$TMPDIR/cpp.$parent" "$TMPDIR/parent.zones"
cp "$TMPDIR/cpp.$parent.$child" "$TMPDIR/child.zones"
expect_zones "$TMPDIR/parent.zones" 6
expect_zones "$TMPDIR/child.zones" 5
grep -q "^#! process $child " "$TMPDIR/child.zones" || fail "the child's file names another process"

# Off by default, and in a disabled build always.
(cd "$TMPDIR" && "$programs/zones_threads" 10 >/dev/null && ls -- *zones* 2>/dev/null) |
    grep -v -e threads.zones -e fibers.zones -e again.zones -e parent.zones -e child.zones &&
    fail "a file was written without being asked for"
run_zones "$TMPDIR/none.zones" "$programs/zones_threads.disabled" 10
[[ ! -e $TMPDIR/none.zones ]] || fail "the disabled build wrote a file"
nm "$programs/zones_threads.disabled" | has_line stackwide_ && fail "the disabled build holds code"

# All files of a program write into one.
need_command cc
cat >"$TMPDIR/a.c" <<'END'
#include <stackwide/zones.h>
void b(struct stackwide_zone *outer);
int main(void) { STACKWIDE_ZONE_AS(zone, "a"); b(&zone); return 0; }
END
cat >"$TMPDIR/b.c" <<'END'
#include <stackwide/zones.h>
void b(struct stackwide_zone *outer) { STACKWIDE_ZONE("b"); stackwide_zone_text(outer, "from", "b"); }
END
cc -I "$REPO/include" -o "$TMPDIR/ab" "$TMPDIR/a.c" "$TMPDIR/b.c" -pthread
run_zones "$TMPDIR/ab.zones" "$TMPDIR/ab"
expect_zones "$TMPDIR/ab.zones" 2
(($(grep -c '^#! process' "$TMPDIR/ab.zones") == 1 && $(grep -c '^THREAD' "$TMPDIR/ab.zones") == 1)) ||
    fail "two files do not share one writer"

# A second run comes behind the first, of which only a cut last line goes.
run_zones "$TMPDIR/twice.zones" "$programs/zones_threads" 3
printf 'ZONE_END,12' >>"$TMPDIR/twice.zones"
run_zones "$TMPDIR/twice.zones" "$programs/zones_threads" 4
expect_zones "$TMPDIR/twice.zones" $((3 * 3 + 3 * 4))
(($(grep -c '^#! process' "$TMPDIR/twice.zones") == 2)) || fail "not two sections of two runs"

# What another process is writing, and what holds something else, stays as it is.
cat >"$TMPDIR/waits.c" <<'END'
#include <stackwide/zones.h>
int main(void)
{
    STACKWIDE_MARK("waits", 0);
    stackwide_zones_flush();
    return getchar() == EOF;
}
END
cc -I "$REPO/include" -o "$TMPDIR/waits" "$TMPDIR/waits.c" -pthread
mkfifo "$TMPDIR/go"
STACKWIDE_ZONES=$TMPDIR/shared.zones "$TMPDIR/waits" <"$TMPDIR/go" &
waiting=$!
exec 9>"$TMPDIR/go"
wait_until grep -qs ZONE_END "$TMPDIR/shared.zones"
STACKWIDE_ZONES=$TMPDIR/shared.zones "$TMPDIR/waits" <<<x &
wait $! || fail "a second program does not run beside the first"
expect_zones "$TMPDIR/shared.zones" 1
expect_zones "$TMPDIR/shared.zones.$!" 1
echo x >&9
exec 9>&-
wait $waiting || fail "the first program does not end well"
expect_zones "$TMPDIR/shared.zones" 1
echo hello >"$TMPDIR/other"
STACKWIDE_ZONES=$TMPDIR/other "$TMPDIR/waits" <<<x &
wait $! || fail "a program with another's file does not run"
[[ $(<"$TMPDIR/other") == hello ]] || fail "a file that holds no zones is written to"
expect_zones "$TMPDIR/other.$!" 1

# Of a program that is killed, what was reported up to the last 100 ms is there.
cat >"$TMPDIR/killed.c" <<'END'
#include <signal.h>
#include <stackwide/zones.h>
int main(void)
{
    struct timespec nap = {0, 150000000};
    STACKWIDE_MARK("first", 0);
    nanosleep(&nap, NULL);
    STACKWIDE_MARK("second", 0);
    STACKWIDE_MARK("third", 0);
    return raise(SIGKILL);
}
END
cc -I "$REPO/include" -o "$TMPDIR/killed" "$TMPDIR/killed.c" -pthread
(STACKWIDE_ZONES=$TMPDIR/killed.zones "$TMPDIR/killed") 2>/dev/null && fail "the program was not killed"
(($(grep -c '^ZONE_START,' "$TMPDIR/killed.zones") == 2 && $(grep -c '^ZONE_END,' "$TMPDIR/killed.zones") == 1)) ||
    fail "of a program that was killed there is: $(cat "$TMPDIR/killed.zones")"
expect_status 0 "$STACKWIDE" convert "$TMPDIR/killed.zones" -o "$TMPDIR/again.zones"
grep -q '1 zones were still open' "$TMPDIR/err" || fail "the open zone is not told of"

# In shared memory nothing of it is missing; threads, fibers and children have all that they reported.
(STACKWIDE_ZONES=$TMPDIR/killed.ring "$TMPDIR/killed") 2>/dev/null && fail "the program was not killed"
"$STACKWIDE" convert "$TMPDIR/killed.ring" -o "$TMPDIR/again.zones" 2>"$TMPDIR/err"
[[ ! -s $TMPDIR/err ]] || fail "shared memory of a program that was killed: $(cat "$TMPDIR/err")"
(($(grep -c '^ZONE_END,' "$TMPDIR/again.zones") == 3)) || fail "zones in shared memory are missing"
# expect_ring FILE NUMBER
expect_ring() {
    expect_status 0 "$STACKWIDE" convert "$1" -o "$TMPDIR/ring.zones"
    [[ ! -s $TMPDIR/err ]] || fail "reading $1 says: $(cat "$TMPDIR/err")"
    expect_zones "$TMPDIR/ring.zones" "$2"
}
run_zones "$TMPDIR/x.ring" "$programs/zones_threads" 1000
expect_ring "$TMPDIR/x.ring" 3000
(($(grep -c '^COUNTER_VALUE' "$TMPDIR/ring.zones") == 1000)) || fail "not every count is in shared memory"
expect_names "$TMPDIR/ring.zones"
# The name is that of the last run; what was there before has its pid behind it.
run_zones "$TMPDIR/x.ring" "$programs/zones_fibers" 16 100
expect_ring "$TMPDIR/x.ring" 6400
expect_ring "$(ls "$TMPDIR"/x.ring.*)" 3000
run_zones "$TMPDIR/cpp.ring" "$programs/zones_cpp"
read -r parent child <"$TMPDIR/out"
expect_ring "$TMPDIR/cpp.ring" 6
expect_ring "$TMPDIR/cpp.ring.$child" 5
"$STACKWIDE" convert "$TMPDIR/cpp.ring" -o "$TMPDIR/cpp.pftrace"
"$STACKWIDE" convert "$TMPDIR/cpp.pftrace" -o "$TMPDIR/cpp.zones"
expect_zones "$TMPDIR/cpp.zones" 6

# Zones leave errno alone, also where they cannot be written; quick_exit() writes them.
cat >"$TMPDIR/quick.c" <<'END'
#include <stackwide/zones.h>
int main(void)
{
    struct timespec nap = {0, 150000000};
    errno = 77;
    for (int i = 0; i < 5000; i++) {
        STACKWIDE_ZONE_AS(zone, "quick");
        stackwide_zone_integer(&zone, "number", i);
    }
    nanosleep(&nap, NULL);
    STACKWIDE_MARK("last", 0);
    quick_exit(errno != 77);
}
END
cc -I "$REPO/include" -o "$TMPDIR/quick" "$TMPDIR/quick.c" -pthread
run_zones /dev/full "$TMPDIR/quick"
run_zones "$TMPDIR/quick.zones" "$TMPDIR/quick"
expect_zones "$TMPDIR/quick.zones" 5001

# Where it is asked for, a signal that ends the program finds the last zones written; how it ends, and
# what the program does itself about signals, stays.
cat >"$TMPDIR/signals.c" <<'END'
#include <setjmp.h>
#include <stackwide/zones.h>
static sigjmp_buf back;
static volatile sig_atomic_t num_own;
static void go_back(int number) { (void)number; num_own = num_own + 1; siglongjmp(back, 1); }
static void end(int number, siginfo_t *info, void *context)
{
    (void)context;
    _exit(number == SIGBUS && info->si_signo == SIGBUS ? 7 : 8);
}
static int is_caught(int number)
{
    struct sigaction action;
    return sigaction(number, NULL, &action) || (action.sa_flags & SA_SIGINFO) || action.sa_handler != SIG_DFL;
}
int main(int argc, char **argv)
{
    struct sigaction action;
    struct timespec nap = {0, 150000000};
    memset(&action, 0, sizeof(action));
    signal(SIGSEGV, go_back);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, go_back);
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = end;
    sigaction(SIGBUS, &action, NULL);
    STACKWIDE_MARK("last", 0);
    if (argc < 2)
        return is_caught(SIGTERM) || is_caught(SIGABRT) || is_caught(SIGFPE);
    switch (*argv[1]) {
    case 't': return raise(SIGTERM);
    case 'a': abort();
    case 'i': __builtin_trap();
    case 'b': nanosleep(&nap, NULL); return raise(SIGBUS);
    }
    /* Faults and requests of its own, and one that it ignores. */
    for (volatile int i = 0; i < 3; i++)
        if (!sigsetjmp(back, 1))
            *(volatile int *)(long)(argc - 2) = i;
    if (!sigsetjmp(back, 1))
        raise(SIGHUP);
    raise(SIGINT);
    return num_own != 4;
}
END
cc -O1 -I "$REPO/include" -o "$TMPDIR/signals" "$TMPDIR/signals.c" -pthread
run_zones "$TMPDIR/unasked.zones" "$TMPDIR/signals" # it ends with 1 where a signal is caught
ulimit -c 0
for way in term:$((128 + 15)) abort:$((128 + 6)) illegal:$((128 + 4)) bus:7 own:0; do
    status=0
    (STACKWIDE_ZONES_SIGNALS=1 STACKWIDE_ZONES=$TMPDIR/signals.${way%:*} "$TMPDIR/signals" "${way%:*}") 2>/dev/null ||
        status=$?
    ((status == ${way#*:})) || fail "with its zones, a program ends with $status instead of ${way#*:} (${way%:*})"
    cp "$TMPDIR/signals.${way%:*}" "$TMPDIR/signals.zones"
    expect_zones "$TMPDIR/signals.zones" 1
done

# The process has its own name, not that of the thread whose zone comes first.
cat >"$TMPDIR/named.c" <<'END'
#include <stackwide/zones.h>
static void *work(void *unused) { prctl(PR_SET_NAME, "worker"); STACKWIDE_ZONE("work"); return unused; }
int main(void)
{
    pthread_t thread;
    return pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL);
}
END
cc -I "$REPO/include" -o "$TMPDIR/named" "$TMPDIR/named.c" -pthread
run_zones "$TMPDIR/named.zones" "$TMPDIR/named"
head -n 1 "$TMPDIR/named.zones" | has_line '^#! process [0-9]* named$' ||
    fail "the process is called as its thread: $(head -n 1 "$TMPDIR/named.zones")"

# It compiles without a warning as what it says it is for, switched on and off.
cp "$TMPDIR/b.c" "$TMPDIR/b.cc"
for compiler in gcc:c g++:cc clang:c clang++:cc; do
    command -v "${compiler%:*}" >/dev/null || continue
    standards=(gnu11 gnu17)
    [[ $compiler == *:c ]] || standards=(c++11 c++14 c++17 c++20)
    for standard in "${standards[@]}"; do
        for switch in -DON -DSTACKWIDE_ZONES_DISABLED; do
            "${compiler%:*}" -fsyntax-only -I "$REPO/include" -std="$standard" $switch \
                -Wall -Wextra -pedantic -Werror "$TMPDIR/b.${compiler#*:}" ||
                fail "${compiler%:*} -std=$standard $switch complains"
        done
    done
done

# Switched off, a function with zones is the function without them.
cat >"$TMPDIR/off.c" <<'END'
#include <stackwide/zones.h>
int work(int n);
int work(int n)
{
    STACKWIDE_ZONE_AS(zone, "work");
    stackwide_zone_integer(&zone, "n", n);
    STACKWIDE_COUNTER("n", n);
    return n * 3;
}
END
echo 'int work(int n); int work(int n) { return n * 3; }' >"$TMPDIR/plain.c"
cc -O2 -I "$REPO/include" -DSTACKWIDE_ZONES_DISABLED -c -o "$TMPDIR/off.o" "$TMPDIR/off.c"
cc -O2 -c -o "$TMPDIR/plain.o" "$TMPDIR/plain.c"
diff <(objdump -d "$TMPDIR/off.o" | tail -n +4) <(objdump -d "$TMPDIR/plain.o" | tail -n +4) ||
    fail "the disabled build costs something"
size=$(size -A "$TMPDIR/off.o" | awk '$1 ~ /^\.(data|bss|rodata)/ { sum += $2 } END { print sum + 0 }')
((size == 0)) || fail "the disabled build holds $size bytes of data"
