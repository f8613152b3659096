/*
 * Loaded before all other libraries (LD_PRELOAD), says which processes of a program open ELF files by
 * libelf or libdw, a line each in the file that ELF_CALLS names: the pid and the function. Calls of other
 * libraries (libbpf reads its own programs so) do not count.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct Elf;
struct Dwarf;

static int output = -1;

__attribute__((constructor)) static void open_output(void)
{
	const char *path = getenv("ELF_CALLS");
	int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644) : -1;

	/* Out of the way of the program's own. */
	if (fd >= 0)
		output = fcntl(fd, F_DUPFD_CLOEXEC, 200);
}

static void note(const char *function, const void *caller)
{
	char line[128];
	Dl_info info;

	if (!dladdr(caller, &info) || strstr(info.dli_fname, ".so"))
		return;
	snprintf(line, sizeof(line), "%d %s\n", getpid(), function);
	if (write(output, line, strlen(line)) < 0)
		return;
}

#define NOTE(function)                                \
	note(#function, __builtin_return_address(0)); \
	next = (__typeof__(next))dlsym(RTLD_NEXT, #function)

struct Elf *elf_begin(int fd, int command, struct Elf *reference);
struct Elf *elf_begin(int fd, int command, struct Elf *reference)
{
	struct Elf *(*next)(int, int, struct Elf *);

	NOTE(elf_begin);
	return next(fd, command, reference);
}

struct Elf *elf_memory(char *image, size_t size);
struct Elf *elf_memory(char *image, size_t size)
{
	struct Elf *(*next)(char *, size_t);

	NOTE(elf_memory);
	return next(image, size);
}

struct Dwarf *dwarf_begin_elf(struct Elf *elf, int command, void *group);
struct Dwarf *dwarf_begin_elf(struct Elf *elf, int command, void *group)
{
	struct Dwarf *(*next)(struct Elf *, int, void *);

	NOTE(dwarf_begin_elf);
	return next(elf, command, group);
}
