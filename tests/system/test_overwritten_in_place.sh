#!/bin/bash
# A file that is overwritten in place keeps its inode, but is another file: no sample has names or unwind
# rules of a content that its process did not map, or that was there at another time. With build IDs and without
# them.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
need_command cc

cat >"$TMPDIR/program.c" <<'C'
#include "spin.h"
/* Both are at the same addresses in each library. */
#ifdef IS_LIBRARY
#define ALIGNED __attribute__((aligned(4096)))
#else
#define ALIGNED
#endif
/* By the rules of another frame, the caller is one that is further out. */
static ALIGNED __attribute__((noinline)) void BURN(void *decoy)
{
	void *volatile frame[FRAME / sizeof(void *)];

	for (unsigned i = 0; i < FRAME / sizeof(void *); i++)
		frame[i] = decoy;
	spin_cpu_ns(400 * NS_PER_MS);
	frame[0] = frame[1];
}
ALIGNED __attribute__((noinline)) int enter(void)
{
	BURN(__builtin_return_address(0));
	return 0;
}
#ifndef IS_LIBRARY
int main(void)
{
	volatile int result = enter();

	return result;
}
#endif
C
# host PATH [OTHER]…: writes the others over the library that it has mapped, one after the other. With KEEP_TIME,
# its modification time stays, as with files of an archive that all have one.
cat >"$TMPDIR/host.c" <<'C'
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
static int overwrite(const char *path, const char *other)
{
	static char bytes[1 << 20];
	int from = open(other, O_RDONLY);
	int to = open(path, O_WRONLY);
	ssize_t size = read(from, bytes, sizeof(bytes));
	struct stat before;

	if (size <= 0 || fstat(to, &before) || write(to, bytes, size) != size)
		return 1;
	if (getenv("KEEP_TIME") && futimens(to, (struct timespec[]){before.st_mtim, before.st_mtim}))
		return 1;
	return close(from) || close(to);
}
int main(int argc, char **argv)
{
	void *library = dlopen(argv[1], RTLD_NOW);
	int (*enter)(void);

	if (!library)
		return 1;
	*(void **)&enter = dlsym(library, "enter");
	enter();
	for (int i = 2; i < argc; i++) {
		if (overwrite(argv[1], argv[i]))
			return 1;
		enter();
	}
	return dlclose(library);
}
C

# compile FILE NAME FRAME FLAG…: a program or library that runs in NAME_burn
compile() {
    cc -O2 -fomit-frame-pointer -I"$REPO/tests/workloads" -D_GNU_SOURCE -DBURN="$2_burn" -DFRAME="$3" "${@:4}" \
        -o "$1" "$TMPDIR/program.c"
}

# record_script NAME SCRIPT: the script runs in the folder of the files; results are NAME.folded, NAME.json
record_script() {
    record -F 997 -o "$TMPDIR/$1.folded" --stats "$TMPDIR/$1.json" -- sh -e -c "cd $TMPDIR; $2"
    grep -E '^(p|host);' "$TMPDIR/$1.folded" >"$TMPDIR/$1.own" || fail "$1: no samples of the program"
}

# expect_gone NAME: frames have no names as the content is gone, and that is told.
expect_gone() {
    local count
    count=$(stats_get "$TMPDIR/$1.json" frames.unnamed.build_id_differs)
    ((count >= 100)) || fail "$1: only $count frames have that reason"
    grep -q 'in files that were replaced or overwritten' "$TMPDIR/record.err" || fail "$1: the summary is silent"
    [[ $(folded_count "$TMPDIR/$1.own" "[truncated]") = 0 ]] || fail "$1: stacks are truncated"
}

# expect_no_decoy NAME: between main and the function that burns is the one that has called it.
expect_no_decoy() {
    ! grep -E ';main;([a-z]*_burn|\[p\.so\])(;[^[]|$| )' "$TMPDIR/$1.own" || fail "$1: these stacks have the decoy as caller"
}

cc -O2 -o "$TMPDIR/host" "$TMPDIR/host.c" -ldl
# The kernel's time of a change is early by a timer interrupt at most: hence the pauses after a program's end.
for id in sha1 none; do
    rm -f "$TMPDIR/p" "$TMPDIR/p.so"
    compile "$TMPDIR/old" old 64 -Wl,--build-id=$id
    compile "$TMPDIR/new" new 3000 -Wl,--build-id=$id
    compile "$TMPDIR/old.so" old 64 -Wl,--build-id=$id -DIS_LIBRARY -shared -fPIC
    compile "$TMPDIR/new.so" new 3000 -Wl,--build-id=$id -DIS_LIBRARY -shared -fPIC

    # The content that ran is gone at the end.
    record_script "once-$id" 'cp old p; ./p; sleep 0.05; cp new p'
    expect_no_frame "$TMPDIR/once-$id.own" new_burn
    expect_gone "once-$id"

    record_script "both-$id" 'cp old p; ./p; sleep 0.05; cp new p; ./p'
    expect_no_frame "$TMPDIR/both-$id.own" old_burn
    expect_share "$TMPDIR/both-$id.own" "main;enter;new_burn" p 50 800
    expect_gone "both-$id"

    record_script "library-$id" 'cat old.so >p.so; ./host ./p.so; sleep 0.05; cat new.so >p.so; ./host ./p.so'
    expect_no_frame "$TMPDIR/library-$id.own" old_burn
    expect_share "$TMPDIR/library-$id.own" "main;enter;new_burn" host 50 800
    expect_share "$TMPDIR/library-$id.own" "main" host 100 800
    expect_gone "library-$id"

    # It is mapped meanwhile: its names are those of the content of each time, or missing for a moment.
    record_script "mapped-$id" 'cat old.so >p.so; ./host ./p.so new.so'
    expect_no_frame "$TMPDIR/mapped-$id.own" old_burn
    expect_frame "$TMPDIR/mapped-$id.own" "main;enter;new_burn" 100
    expect_no_decoy "mapped-$id"
    # By size and modification time it is the same.
    [[ $(stat -c %s "$TMPDIR/old.so") = $(stat -c %s "$TMPDIR/new.so") ]] || fail "the libraries differ in size"
    record_script "kept-$id" 'cat old.so >p.so; KEEP_TIME=1 ./host ./p.so new.so'
    expect_no_frame "$TMPDIR/kept-$id.own" old_burn
    expect_frame "$TMPDIR/kept-$id.own" "main;enter;new_burn" 100
    expect_no_decoy "kept-$id"
    record_script "restored-$id" 'cat old.so >p.so; ./host ./p.so new.so old.so'
    expect_no_frame "$TMPDIR/restored-$id.own" new_burn
    count=$(folded_count "$TMPDIR/restored-$id.own" old_burn)
    echo "restored-$id: $count samples of old_burn, $(stats_get "$TMPDIR/restored-$id.json" frames.unnamed.build_id_differs) without a name"
    ((count <= 900)) || fail "restored-$id: $count samples of old_burn, which ran for 0.8 s"
    (($(folded_count "$TMPDIR/restored-$id.own" old_burn main) >= 100)) ||
        fail "restored-$id: few whole stacks of the content that is back"
    count=$(stats_get "$TMPDIR/restored-$id.json" frames.unnamed.build_id_differs)
    ((count >= 100)) || fail "restored-$id: only $count frames without a name"
    expect_no_decoy "restored-$id"
done

# Nothing but the time of its last change tells that it is another content.
record_script "kept-later" 'cat old.so >p.so; ./host ./p.so; sleep 0.05
    touch -r p.so time; cat new.so >p.so; touch -r time p.so; ./host ./p.so'
expect_no_frame "$TMPDIR/kept-later.own" old_burn
expect_share "$TMPDIR/kept-later.own" "main;enter;new_burn" host 50 800
record_script "kept-renamed" 'cat old.so >p.so; ./host ./p.so; sleep 0.05; ln p.so q.so; chmod 700 p.so
    ./host ./q.so; rm p.so q.so'
expect_share "$TMPDIR/kept-renamed.own" "main;enter;old_burn" host 100 800

# The build ID shows that the first content is back.
compile "$TMPDIR/old.so" old 64 -Wl,--build-id=sha1 -DIS_LIBRARY -shared -fPIC
compile "$TMPDIR/new.so" new 3000 -Wl,--build-id=sha1 -DIS_LIBRARY -shared -fPIC
record_script back 'for file in old new old; do sleep 0.05; cat $file.so >p.so; ./host ./p.so; done'
expect_no_frame "$TMPDIR/back.own" new_burn
expect_share "$TMPDIR/back.own" "main;enter;old_burn" host 66.7 1200
expect_gone back

# Other changes leave the content as it is.
record_script links 'cp old p; ./p; ln p other; chmod 700 p; mv p moved; rm other'
expect_share "$TMPDIR/links.own" "main;enter;old_burn" p 100 400
