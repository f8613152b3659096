/*
 * Code of many ELF files, one after the other: many_files SECONDS FILE…. Maps each file as the
 * dynamic linker would, and calls its _init. Relocations are not needed for that, as an undefined
 * __gmon_start__ is 0 in the file, too. Files without _init, and those where it fails, are left
 * out. Prints how many remain, and runs each of them for 1 ms in turn.
 */
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spin.h"

#define PAGE_BYTES   4096ull
#define CALLS_A_LOOK 1000

typedef void function(void);

static sigjmp_buf failure;

static void on_failure(int number)
{
	(void)number;
	siglongjmp(failure, 1);
}

static const Elf64_Phdr *get_segments(const Elf64_Ehdr *header, size_t size)
{
	if (size < sizeof(*header) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_phoff > size ||
	    header->e_phnum > (size - header->e_phoff) / sizeof(Elf64_Phdr))
		return NULL;
	return (const Elf64_Phdr *)((const char *)header + header->e_phoff);
}

/* The whole span is reserved first: bytes after the file's stay zero. */
static char *map_segments(int fd, const Elf64_Phdr *segments, size_t count)
{
	uint64_t end = 0;
	char *base;

	for (size_t i = 0; i < count; i++)
		if (segments[i].p_type == PT_LOAD &&
		    segments[i].p_vaddr + segments[i].p_memsz > end)
			end = segments[i].p_vaddr + segments[i].p_memsz;
	if (!end || end > 1ull << 32)
		return NULL;
	base = mmap(NULL, end, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		const Elf64_Phdr *segment = &segments[i];
		uint64_t lead = segment->p_vaddr % PAGE_BYTES;
		int rights = PROT_READ | (segment->p_flags & PF_X ? PROT_EXEC : PROT_WRITE);

		if (segment->p_type == PT_LOAD && segment->p_filesz &&
		    mmap(base + segment->p_vaddr - lead, segment->p_filesz + lead, rights,
			 MAP_PRIVATE | MAP_FIXED, fd,
			 (off_t)(segment->p_offset - lead)) == MAP_FAILED)
			return NULL;
	}
	return base;
}

static function *find_init(char *base, const Elf64_Phdr *segments, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const Elf64_Dyn *entry = (const Elf64_Dyn *)(base + segments[i].p_vaddr);

		for (; segments[i].p_type == PT_DYNAMIC && entry->d_tag != DT_NULL; entry++)
			if (entry->d_tag == DT_INIT)
				return (function *)(base + entry->d_un.d_ptr);
	}
	return NULL;
}

static function *map_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const Elf64_Phdr *segments;
	function *init = NULL;
	struct stat status;
	void *file;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_size) {
		file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		segments = file == MAP_FAILED ? NULL : get_segments(file, (size_t)status.st_size);
		if (segments) {
			size_t count = ((const Elf64_Ehdr *)file)->e_phnum;
			char *base = map_segments(fd, segments, count);

			init = base ? find_init(base, segments, count) : NULL;
		}
		if (file != MAP_FAILED)
			munmap(file, (size_t)status.st_size);
	}
	close(fd);
	return init;
}

static bool can_call(function *init)
{
	if (sigsetjmp(failure, 1))
		return false;
	init();
	return true;
}

/* Without a frame of its own for each call: the caller's is the only one. */
static __attribute__((noinline)) void call(function *init)
{
	for (int i = 0; i < CALLS_A_LOOK; i++)
		init();
}

int main(int argc, char **argv)
{
	uint64_t end_ns = read_cpu_ns() + read_duration_ns(argc, argv, 1, 1);
	struct sigaction action = {.sa_handler = on_failure};
	function **inits = calloc((size_t)argc, sizeof(*inits));
	size_t count = 0;

	for (int number = SIGILL; number <= SIGSEGV; number++)
		if (number == SIGILL || number == SIGBUS || number == SIGFPE || number == SIGSEGV)
			sigaction(number, &action, NULL);
	for (int i = 2; i < argc; i++) {
		function *init = map_file(argv[i]);

		if (init && can_call(init))
			inits[count++] = init;
	}
	printf("%zu\n", count);
	fflush(stdout);
	for (size_t i = 0; count && read_cpu_ns() < end_ns; i = (i + 1) % count) {
		uint64_t turn_ns = read_cpu_ns() + NS_PER_MS;

		while (read_cpu_ns() < turn_ns)
			call(inits[i]);
	}
	return 0;
}
