/*
 * Two libraries in turn at the same address, each of which puts an address of decoy() on the stack, which returned
 * long ago: nofp_swaps ROUNDS TURNS [WAY]. A turn is some 0.05 ms in the function leaf_a() or leaf_b(), whose callers are entry(),
 * run_library() and main(). Ways to replace a library:
 *
 * loaded   it is unloaded, and the other one is loaded; the default
 * mapped   the text of the other one's file is mapped over its text
 * copied   memory with the text of the other one is mapped over its text
 * forked   as `loaded`, each time in a child
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void entry_function(const void *decoy, long turns);

extern const char decoy_return[];
void decoy(void);
void decoy_callee(void);

static volatile int num_calls;
static char paths[2][PATH_MAX + 32];

__attribute__((noinline)) void decoy_callee(void)
{
	num_calls++;
}

/* clang-format off */
__asm__(".text\n"
	".globl decoy\n"
	".type decoy, @function\n"
	"decoy:\n"
	".cfi_startproc\n"
	"sub $8, %rsp\n"
	".cfi_adjust_cfa_offset 8\n"
	"call decoy_callee\n"
	".globl decoy_return\n"
	"decoy_return:\n"
	"add $8, %rsp\n"
	".cfi_adjust_cfa_offset -8\n"
	"ret\n"
	".cfi_endproc\n"
	".size decoy, . - decoy\n");
/* clang-format on */

static __attribute__((noinline)) void run_library(entry_function *entry, long turns)
{
	entry(decoy_return, turns);
	num_calls++;
}

static void *load(int number)
{
	void *library = dlopen(paths[number], RTLD_NOW);

	if (!library)
		exit(1);
	return library;
}

static entry_function *find_entry(void *library)
{
	entry_function *entry;

	*(void **)&entry = dlsym(library, "entry");
	if (!entry)
		exit(1);
	return entry;
}

static void load_and_run(int number, long turns)
{
	void *library = load(number);

	run_library(find_entry(library), turns);
	dlclose(library);
}

/* The text of the library's file, and where it is mapped. */
struct text {
	void *start;
	size_t size;
	off_t offset;
};

static int find_text(struct dl_phdr_info *info, size_t size, void *context)
{
	struct text *text = context;

	(void)size;
	if (strcmp(info->dlpi_name, paths[0]) != 0)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		text->start = (void *)(info->dlpi_addr + segment->p_vaddr);
		text->size = (segment->p_filesz + 4095) & ~4095ul;
		text->offset = (off_t)segment->p_offset;
	}
	return 1;
}

static int map_file(const struct text *text, int fd)
{
	return mmap(text->start, text->size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
		    text->offset) == MAP_FAILED;
}

static int map_copy(const struct text *text, int fd)
{
	if (mmap(text->start, text->size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ||
	    pread(fd, text->start, text->size, text->offset) <= 0)
		return 1;
	return mprotect(text->start, text->size, PROT_READ | PROT_EXEC);
}

/* Map one over the other in turn. The copy is of the second one, and replaced by the file of the first one. */
static int run_mapped(long rounds, long turns, int is_copied)
{
	entry_function *entry = find_entry(load(0));
	struct text text = {0};
	int fds[2];

	for (int i = 0; i < 2; i++)
		fds[i] = open(paths[i], O_RDONLY);
	dl_iterate_phdr(find_text, &text);
	if (!text.size || fds[0] < 0 || fds[1] < 0)
		return 1;
	for (long i = 0; i < rounds * 2; i++) {
		if (i % 2 && is_copied ? map_copy(&text, fds[1]) : map_file(&text, fds[i % 2]))
			return 1;
		run_library(entry, turns);
	}
	return 0;
}

static void run_child(int number, long turns)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		load_and_run(number, turns);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		exit(1);
}

int main(int argc, char **argv)
{
	const char *way = argc > 3 ? argv[3] : "loaded";
	char self[PATH_MAX] = "";

	if (argc < 3 || readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	dirname(self);
	for (int i = 0; i < 2; i++)
		snprintf(paths[i], sizeof(paths[i]), "%s/nofp_swapped_%c.so", self, 'a' + i);
	decoy();
	if (strcmp(way, "mapped") == 0 || strcmp(way, "copied") == 0)
		return run_mapped(atol(argv[1]), atol(argv[2]), way[0] == 'c');
	for (long i = 0; i < atol(argv[1]); i++) {
		for (int number = 0; number < 2; number++)
			if (strcmp(way, "forked") == 0 && number)
				run_child(number, atol(argv[2]));
			else
				load_and_run(number, atol(argv[2]));
	}
	return 0;
}
