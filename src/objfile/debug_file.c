#include "objfile/debug_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/file.h"
#include "base/text.h"
#include "objfile/elf_file.h"
#include "objfile/objfile.h"

/* The path comes from an untrusted file. */
static int open_regular_file(const struct debug_opener *opener, const char *path)
{
	return opener ? opener->open(opener->context, path)
		      : file_open_regular(AT_FDCWD, path, 0, NULL);
}

static bool is_same_file(int a, int b)
{
	struct stat status_a;
	struct stat status_b;

	return fstat(a, &status_a) == 0 && fstat(b, &status_b) == 0 &&
	       status_a.st_dev == status_b.st_dev && status_a.st_ino == status_b.st_ino;
}

static bool has_build_id(int fd, const void *build_id, size_t size)
{
	uint8_t found[BUILD_ID_SIZE_MAX];
	uint8_t found_size;

	return build_id_read_fd(fd, found, &found_size) == 0 && found_size == size &&
	       memcmp(found, build_id, size) == 0;
}

/*
 * Whether a file beside the program is trusted for its names: its owner is root, us, or one who
 * could have written the program as well. The folder may be in a container, where it belongs to
 * another user.
 */
static bool is_believed(const struct debug_file_query *query, int fd)
{
	struct stat status;
	struct stat program_status;

	/* An opener has already checked the owner. */
	return query->opener || file_owner_is_trusted(file_owner_get(fd)) ||
	       (fstat(fd, &status) == 0 && fstat(query->fd, &program_status) == 0 &&
		status.st_dev == program_status.st_dev && status.st_uid == program_status.st_uid);
}

/* The checksum of .gnu_debuglink is zlib's. */
static bool has_checksum(int fd, uint32_t expected)
{
	unsigned char chunk[65536];
	uLong checksum = crc32(0, NULL, 0);
	struct stat status;
	off_t offset = 0;

	/* Terabytes of a hole would be read for hours. */
	if (fstat(fd, &status) || (uint64_t)status.st_size > elf_file_get_allowed_bytes(&status))
		return false;
	for (;;) {
		ssize_t got = pread(fd, chunk, sizeof(chunk), offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return false;
		if (got == 0)
			return checksum == expected;
		checksum = crc32(checksum, chunk, (uInt)got);
		offset += got;
	}
}

/* Format "ROOT/.build-id/xx/yyyy.debug". Returns false when it does not fit. */
static bool format_build_id_path(const char *root, const uint8_t *build_id, size_t size, char *ret,
				 size_t capacity)
{
	size_t length;
	int printed;

	if (size < 2)
		return false;
	printed = snprintf(ret, capacity, "%s/.build-id/%02x/", root, build_id[0]);
	if (printed < 0 || (size_t)printed + 2 * size + sizeof(".debug") > capacity)
		return false;
	length = (size_t)printed;
	for (size_t i = 1; i < size; i++)
		length += (size_t)sprintf(ret + length, "%02x", build_id[i]);
	memcpy(ret + length, ".debug", sizeof(".debug"));
	return true;
}

/* Take the next folder of a list "A:B". False at its end. */
static bool take_root(const char **roots, char *ret, size_t capacity)
{
	size_t length;

	while (**roots) {
		length = strcspn(*roots, ":");
		memcpy(ret, *roots, length < capacity ? length : 0);
		ret[length < capacity ? length : 0] = '\0';
		*roots += length;
		*roots += **roots == ':';
		if (*ret)
			return true;
	}
	return false;
}

static int open_by_build_id(const struct debug_file_query *query, const uint8_t *build_id,
			    size_t size)
{
	const char *roots = query->debug_root;
	char root[PATH_MAX];
	char path[PATH_MAX];

	while (take_root(&roots, root, sizeof(root))) {
		int fd;

		if (!format_build_id_path(root, build_id, size, path, sizeof(path)))
			continue;
		fd = open_regular_file(query->opener, path);
		if (fd < 0)
			continue;
		if (has_build_id(fd, build_id, size))
			return fd;
		close(fd);
	}
	return -ENOENT;
}

/* Whether a file belongs to the program: by build ID, or without one by the link's checksum. */
static bool is_match(const struct debug_file_query *query, int fd, uint32_t checksum)
{
	uint8_t found[BUILD_ID_SIZE_MAX];
	uint8_t found_size;

	if (is_same_file(fd, query->fd))
		return false;
	if (query->build_id_size && build_id_read_fd(fd, found, &found_size) == 0)
		return found_size == query->build_id_size &&
		       memcmp(found, query->build_id, found_size) == 0;
	return has_checksum(fd, checksum);
}

/* The file that a link names, at one of its places. */
static _printf_(4, 5) int try_link(const struct debug_file_query *query, uint32_t checksum,
				   bool is_beside, const char *format, ...)
{
	char path[PATH_MAX];
	va_list arguments;
	int length;
	int fd;

	va_start(arguments, format);
	length = vsnprintf(path, sizeof(path), format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= sizeof(path))
		return -ENOENT;
	fd = open_regular_file(query->opener, path);
	if (fd < 0 || ((!is_beside || is_believed(query, fd)) && is_match(query, fd, checksum)))
		return fd;
	close(fd);
	return -ENOENT;
}

static int open_by_link(const struct debug_file_query *query)
{
	int folder_length = (int)(path_basename(query->path) - query->path);
	const char *roots = query->debug_root;
	char root[PATH_MAX];
	GElf_Word checksum;
	const char *name = dwelf_elf_gnu_debuglink(query->elf, &checksum);
	int fd;

	/* The link holds a file name; "../../etc/x" in it would lead us elsewhere. */
	if (!name || !*name || strchr(name, '/') || query->path[0] != '/')
		return -ENOENT;
	fd = try_link(query, checksum, true, "%.*s%s", folder_length, query->path, name);
	if (fd < 0)
		fd = try_link(query, checksum, true, "%.*s.debug/%s", folder_length, query->path,
			      name);
	while (fd < 0 && take_root(&roots, root, sizeof(root))) {
		fd = try_link(query, checksum, false, "%s%.*s%s", root, folder_length, query->path,
			      name);
		if (fd < 0)
			fd = try_link(query, checksum, false, "%s/%s", root, name);
	}
	return fd;
}

/* ---- by the program's own name ---- */

/* Contents of a file by its section headers; all false without headers. */
struct contents {
	bool has_sections;
	bool has_code; /* code that is in the file */
	bool has_symtab;
};

static struct contents read_contents(int fd)
{
	struct contents contents = {0};
	Elf_Scn *section = NULL;
	Elf *elf;

	if (elf_file_start(fd, &elf))
		return contents;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header))
			continue;
		contents.has_sections = true;
		contents.has_code |=
			(header.sh_flags & SHF_EXECINSTR) && header.sh_type != SHT_NOBITS;
		contents.has_symtab |= header.sh_type == SHT_SYMTAB;
	}
	elf_end(elf);
	return contents;
}

bool debug_file_is_one(int fd)
{
	struct contents contents = read_contents(fd);

	return contents.has_sections && !contents.has_code;
}

/* ROOT/NAME, or the same with .debug appended. */
static int try_name(const struct debug_file_query *query, const char *root, const char *name,
		    const char *suffix)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof(path), "%s/%s%s", root, name, suffix);
	int fd;

	if (length < 0 || (size_t)length >= sizeof(path))
		return -ENOENT;
	fd = open_regular_file(query->opener, path);
	if (fd < 0)
		return fd;
	if (!is_same_file(fd, query->fd) &&
	    has_build_id(fd, query->build_id, query->build_id_size) && read_contents(fd).has_symtab)
		return fd;
	close(fd);
	return -ENOENT;
}

static int open_by_name(const struct debug_file_query *query)
{
	const char *names[] = {query->path, path_basename(query->path)};
	static const char *const suffixes[] = {".debug", ""};
	const char *roots = query->debug_root;
	char root[PATH_MAX];

	if (!query->build_id_size || strstr(query->path, ".."))
		return -ENOENT;
	while (take_root(&roots, root, sizeof(root))) {
		for (size_t i = 0; i < 4; i++) {
			int fd = try_name(query, root, names[i / 2], suffixes[i % 2]);

			if (fd >= 0)
				return fd;
		}
	}
	return -ENOENT;
}

int debug_file_open(const struct debug_file_query *query, int *ret)
{
	int fd = open_by_build_id(query, query->build_id, query->build_id_size);

	if (fd < 0)
		fd = open_by_link(query);
	if (fd < 0)
		fd = open_by_name(query);
	if (fd < 0)
		return -ENOENT;
	*ret = fd;
	return 0;
}

/*
 * Debian writes the alternate's absolute path, Fedora one relative to the debug file
 * ("../../../.dwz/name"); both mean a file below the root of debug files.
 */
static const char *get_path_below_root(const char *name)
{
	static const char usual_root[] = "/usr/lib/debug/";

	if (string_starts_with(name, usual_root))
		name += strlen(usual_root);
	while (string_starts_with(name, "../"))
		name += strlen("../");
	return strstr(name, "..") ? NULL : name;
}

/* Beside the program, where dwz puts the file that it creates. */
static int open_beside(const struct debug_file_query *query, const char *name)
{
	const char *program = query->path;
	int folder_length = (int)(path_basename(program) - program);
	char path[PATH_MAX];
	int length;
	int fd;

	if (program[0] != '/' || name[0] == '/' || strstr(name, ".."))
		return -ENOENT;
	length = snprintf(path, sizeof(path), "%.*s%s", folder_length, program, name);
	fd = length > 0 && (size_t)length < sizeof(path) ? open_regular_file(query->opener, path)
							 : -ENOENT;
	if (fd < 0 || is_believed(query, fd))
		return fd;
	close(fd);
	return -ENOENT;
}

int debug_file_open_alternate(Dwarf *dwarf, const struct debug_file_query *query, int *ret)
{
	const char *link;
	const char *name;
	const void *build_id;
	ssize_t size = dwelf_dwarf_gnu_debugaltlink(dwarf, &link, &build_id);
	const char *roots = query->debug_root;
	char root[PATH_MAX];
	char path[PATH_MAX];
	int length;
	int fd;

	if (size == 0)
		return -ENODATA;
	if (size < 0 || size > BUILD_ID_SIZE_MAX)
		return -ENOENT;
	fd = open_by_build_id(query, build_id, (size_t)size);
	if (fd < 0)
		fd = open_beside(query, link);
	if (fd >= 0 && !has_build_id(fd, build_id, (size_t)size)) {
		close(fd);
		fd = -ENOENT;
	}
	name = get_path_below_root(link);
	while (fd < 0 && name && take_root(&roots, root, sizeof(root))) {
		length = snprintf(path, sizeof(path), "%s/%s", root, name);
		if (length > 0 && (size_t)length < sizeof(path))
			fd = open_regular_file(query->opener, path);
		if (fd >= 0 && !has_build_id(fd, build_id, (size_t)size)) {
			close(fd);
			fd = -ENOENT;
		}
	}
	if (fd < 0)
		return -ENOENT;
	*ret = fd;
	return 0;
}
