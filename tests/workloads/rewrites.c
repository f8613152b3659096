/* Runs code in memory that it makes again at the same address, the n-th generation as
   gen_even for 100 ms of CPU time, or as gen_odd for 50 ms. Names them in a perf-map, or in a jitdump with times of
   CLOCK_MONOTONIC or of a clock of its own. Writes the whole file again for each generation (anew-), another file in
   its place (next-), or changes one name between many others and adds a line (middle-); then generations take four
   times as long. Says what CPU time they took:
   rewrites SECONDS [anew-|next-|middle-]map|[anew-|next-]dump|foreign-dump [UID-THAT-OWNS-THE-DUMP], in the folder
   where that goes. */
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "generated_code.h"
#include "spin.h"

#define PAGE_BYTES    4096
#define GENERATION_NS (50 * NS_PER_MS)

struct header {
	uint32_t magic, version, total_size, machine, padding, pid;
	uint64_t timestamp, flags;
};

struct load {
	uint32_t id, total_size;
	uint64_t timestamp;
	uint32_t pid, tid;
	uint64_t vma, address, size, index;
	char name[16]; /* more than the name: what follows its NUL counts as code */
	unsigned char code[sizeof(code)];
};

/* How a file is written: it grows, or is written whole for each generation, in its place or as another one. */
enum writing { GROWS, ANEW, NEXT, MIDDLE };

static int open_file(const char *path, enum writing writing)
{
	if (writing == NEXT)
		unlink(path);
	return open(path, O_RDWR | O_CREAT | (writing == ANEW ? O_TRUNC : O_EXCL), 0600);
}

static int open_dump(int is_foreign, const char *owner, enum writing writing)
{
	struct header header = {.magic = 0x4a695444,
				.version = 1,
				.total_size = sizeof(header),
				.pid = (uint32_t)getpid(),
				.flags = (uint64_t)is_foreign};
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "jit-%d.dump", getpid());
	fd = open_file(path, writing);
	if (fd < 0 || write(fd, &header, sizeof(header)) != sizeof(header))
		return -1;
	if (owner && fchown(fd, (uid_t)atoi(owner), (gid_t)-1))
		return -1;
	/* How profilers find it. */
	if (mmap(NULL, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		return -1;
	return fd;
}

static int open_map(enum writing writing)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	return open_file(path, writing);
}

static const char *get_name(unsigned generation)
{
	return generation % 2 ? "gen_odd" : "gen_even";
}

static void name_in_dump(int fd, const unsigned char *start, int is_foreign, unsigned generation)
{
	struct load load = {
		.total_size = offsetof(struct load, code) + sizeof(code),
		.timestamp = is_foreign ? generation : read_clock_ns(CLOCK_MONOTONIC),
		.pid = (uint32_t)getpid(),
		.tid = (uint32_t)getpid(),
		.vma = (uintptr_t)start,
		.address = (uintptr_t)start,
		.size = sizeof(code),
		.index = generation,
	};

	snprintf(load.name, sizeof(load.name), "%s", get_name(generation));
	memcpy(load.code, code, sizeof(code));
	if (write(fd, &load, load.total_size) != (ssize_t)load.total_size)
		_exit(1);
}

static void name_in_map(int fd, const unsigned char *start, unsigned generation)
{
	dprintf(fd, "%lx %zx %s\n", (unsigned long)start, sizeof(code), get_name(generation));
}

/* One write: the file has all its lines at any time. */
static void write_middle(int fd, const unsigned char *start, unsigned generation)
{
	static char text[1 << 20];
	size_t length = 0;

	for (unsigned i = 0; i <= 20000 + generation; i++)
		length +=
			(size_t)snprintf(text + length, sizeof(text) - length, "%lx %zx %-8s\n",
					 (unsigned long)start + (i == 10000 ? 0 : (i + 1) * 64),
					 sizeof(code), i == 10000 ? get_name(generation) : "other");
	if (pwrite(fd, text, length, 0) != (ssize_t)length)
		_exit(1);
}

static __attribute__((noinline)) void run_code(const unsigned char *start, uint64_t end_ns)
{
	void (*count_down)(long) = (void (*)(long))(uintptr_t)start;

	while (read_cpu_ns() < end_ns)
		count_down(100000);
}

int main(int argc, char **argv)
{
	uint64_t end_ns = read_cpu_ns() + read_duration_ns(argc, argv, 1, 1);
	const char *kind = argc < 3 ? "map" : argv[2];
	enum writing writing = strncmp(kind, "anew-", 5) == 0     ? ANEW
			       : strncmp(kind, "next-", 5) == 0   ? NEXT
			       : strncmp(kind, "middle-", 7) == 0 ? MIDDLE
								  : GROWS;
	int is_map = strstr(kind, "map") != NULL;
	int is_foreign = strcmp(kind, "foreign-dump") == 0;
	uint64_t used_ns[2] = {0};
	unsigned char *memory;
	int fd;

	if (sizeof(code) == 1)
		return 77; /* no code for this machine */
	memory = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fd = is_map ? open_map(writing) : open_dump(is_foreign, argc > 3 ? argv[3] : NULL, writing);
	if (memory == MAP_FAILED || fd < 0)
		return 1;
	for (unsigned generation = 0; read_cpu_ns() < end_ns; generation++) {
		uint64_t start_ns = read_cpu_ns();

		if (mprotect(memory, PAGE_BYTES, PROT_READ | PROT_WRITE))
			return 1;
		memcpy(memory, code, sizeof(code));
		if (mprotect(memory, PAGE_BYTES, PROT_READ | PROT_EXEC))
			return 1;
		__builtin___clear_cache((char *)memory, (char *)memory + sizeof(code));
		if (writing == MIDDLE)
			write_middle(fd, memory, generation);
		if ((writing == ANEW || writing == NEXT) && generation) {
			close(fd);
			fd = is_map ? open_map(writing) : open_dump(is_foreign, NULL, writing);
			if (fd < 0)
				return 1;
		}
		if (is_map && writing != MIDDLE)
			name_in_map(fd, memory, generation);
		else if (!is_map)
			name_in_dump(fd, memory, is_foreign, generation);
		/* A file that is written anew is longer than before, but its new name is at its start. */
		for (unsigned i = 0; (writing == ANEW || writing == NEXT) && i < generation; i++) {
			if (is_map)
				name_in_map(fd, memory + PAGE_BYTES, i);
			else
				name_in_dump(fd, memory + PAGE_BYTES, is_foreign, i);
		}
		run_code(memory, start_ns + (generation % 2 ? 1 : 2) * (writing == GROWS ? 1 : 4) *
						    GENERATION_NS);
		used_ns[generation % 2] += read_cpu_ns() - start_ns;
	}
	printf("%llu %llu\n", (unsigned long long)used_ns[0], (unsigned long long)used_ns[1]);
	return 0;
}
