# shellcheck shell=bash
# Many files with an allocator of their own, which a user may map. Sourced after lib.sh.

# make_allocators FOLDER COUNT: as FOLDER/0.so and so on, of user 20001
make_allocators() {
    local i
    cat >"$TMPDIR/allocator.c" <<'C'
static char block[4096];
void *malloc(unsigned long bytes) { (void)bytes; return block; }
void free(void *memory) { (void)memory; }
void *calloc(unsigned long count, unsigned long bytes) { return malloc(count * bytes); }
void *realloc(void *memory, unsigned long bytes) { (void)memory; return malloc(bytes); }
C
    # A mapping of them has 64 KiB.
    cc -shared -fPIC -O1 -fno-builtin -w -o "$TMPDIR/allocator.so" "$TMPDIR/allocator.c"
    truncate -s 65536 "$TMPDIR/allocator.so"
    for ((i = 0; i < $2; i++)); do
        cp "$TMPDIR/allocator.so" "$1/$i.so"
    done
    chown -R 20001:20001 "$1"
}
