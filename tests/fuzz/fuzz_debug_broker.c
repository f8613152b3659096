/*
 * What a process without rights asks the broker for: the input is a path, where R stands for a root of
 * debug files and P for the folder of a mapped program. Whatever it is, what is opened is an ELF file
 * in one of these.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "require.h"
#include "symbolize/debug_broker.h"

#define PATH_BYTES 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[PATH_BYTES]; /* made once, and left to the runner's temporary folder */
static struct file_table *files;
static struct debug_broker broker;
static char root[PATH_BYTES + 8];

static void write_file(const char *name, const char *content)
{
	char path[PATH_BYTES + 64];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT, 0644);
	require(fd >= 0 && write(fd, content, strlen(content)) == (ssize_t)strlen(content));
	close(fd);
}

static void make_folder(const char *name)
{
	char path[PATH_BYTES + 64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	require(mkdir(path, 0755) == 0);
}

static void set_up(void)
{
	const char *parent = getenv("TMPDIR");
	char program[PATH_BYTES + 16];
	struct file_identity identity = {.path = program};

	snprintf(folder, sizeof(folder), "%s/stackwide-fuzz-XXXXXX", parent ? parent : "/tmp");
	require(mkdtemp(folder) != NULL);
	make_folder("R");
	make_folder("R/a");
	make_folder("P");
	make_folder("P/.debug");
	make_folder("P/a");
	write_file("R/a/b", ELFMAG);
	write_file("R/b", "text");
	write_file("P/p", ELFMAG);
	write_file("P/b", ELFMAG);
	write_file("P/.debug/b", ELFMAG);
	write_file("P/a/b", ELFMAG);
	write_file("b", ELFMAG);
	snprintf(root, sizeof(root), "%s/R", folder);
	snprintf(program, sizeof(program), "%s/P/p", folder);
	files = file_table_new("/proc", NULL);
	require(files && file_table_add_sought(files, &identity) == 0);
	file_table_set_found(files, 0, open(program, O_RDONLY), false);
	broker = (struct debug_broker){.debug_root = root, .files = files};
}

/* A path that is opened leads here, by what the kernel says of the descriptor. */
static void check_opened(int fd)
{
	char link[64];
	char path[PATH_BYTES * 2] = "";
	char magic[SELFMAG];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	require(readlink(link, path, sizeof(path) - 1) > 0);
	require(string_starts_with(path, folder));
	require(string_equals(path + strlen(folder), "/R/a/b") ||
		string_equals(path + strlen(folder), "/P/b") ||
		string_equals(path + strlen(folder), "/P/p") ||
		string_equals(path + strlen(folder), "/P/.debug/b"));
	require(pread(fd, magic, sizeof(magic), 0) == SELFMAG &&
		memcmp(magic, ELFMAG, SELFMAG) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text path = {0};
	int fd;

	if (!folder[0])
		set_up();
	for (size_t i = 0; i < size; i++) {
		if (data[i] == 'R' || data[i] == 'P')
			text_append_string(&path, folder);
		if (data[i] == 'R' || data[i] == 'P')
			text_append_char(&path, '/');
		text_append_char(&path, (char)data[i]);
	}
	require(!path.failed);
	fd = debug_broker_open(&broker, path.data ? path.data : "", path.length);
	if (fd >= 0) {
		check_opened(fd);
		close(fd);
	}
	text_release(&path);
	return 0;
}
