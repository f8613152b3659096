#include "process/file_opener.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/text.h"

/* Of a vdso; those of today have 4 to 16 KiB. */
#define VDSO_MAX_BYTES (256u << 10)

static int open_regular(const char *path, struct opened_file *ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;

	if (fd < 0 || fstat(fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -ENOENT;
	*ret = (struct opened_file){
		.fd = fd,
		.dev_major = major(status.st_dev),
		.dev_minor = minor(status.st_dev),
		.inode = status.st_ino,
	};
	fd = -1;
	return 0;
}

/*
 * Build IDs decide where the mapping has one: a file without one is then another file. Device
 * numbers are not compared, because those of btrfs and overlayfs differ between maps and stat.
 * A map_files link needs no inode check: it leads to the mapped file, whatever its numbers.
 */
static bool is_wanted(const struct opened_file *opened, const struct file_identity *identity,
		      bool can_read_build_id, bool is_map_files)
{
	if (identity->build_id_size && can_read_build_id)
		return identity->build_id_size == opened->build_id_size &&
		       memcmp(identity->build_id, opened->build_id, opened->build_id_size) == 0;
	return is_map_files || !identity->inode || identity->inode == opened->inode;
}

/* Returns 0 when the file is there and is the wanted one, else negative errno. */
static int try_path(const char *path, file_build_id_reader read_build_id,
		    const struct file_identity *identity, bool is_map_files,
		    struct opened_file *ret)
{
	struct opened_file opened = {0};
	int err = open_regular(path, &opened);

	if (err)
		return err;
	if (!read_build_id || read_build_id(opened.fd, opened.build_id, &opened.build_id_size))
		opened.build_id_size = 0;
	assert(opened.build_id_size <= FILE_BUILD_ID_MAX_BYTES);
	if (!is_wanted(&opened, identity, read_build_id != NULL, is_map_files)) {
		close(opened.fd);
		return -ESTALE;
	}
	*ret = opened;
	return 0;
}

enum place { MAP_FILES, OWN_ROOT, PARENT_ROOT, OUR_ROOT, NUM_PLACES };

static void print_place(struct text *text, enum place place, const char *proc_root, pid_t pid,
			uint64_t start, uint64_t end, const char *path)
{
	if (place == MAP_FILES)
		text_printf(text, "%s/%d/map_files/%" PRIx64 "-%" PRIx64, proc_root, pid, start,
			    end);
	else if (place == OUR_ROOT)
		text_append_string(text, path);
	else
		text_printf(text, "%s/%d/root%s", proc_root, pid, path);
}

int file_opener_open(const char *proc_root, file_build_id_reader read_build_id, pid_t pid,
		     pid_t parent_pid, uint64_t start, uint64_t end,
		     const struct file_identity *identity, struct opened_file *ret)
{
	bool another_was_found = false;

	for (enum place place = MAP_FILES; place < NUM_PLACES; place++) {
		_cleanup_(text_release) struct text path = {0};
		int err;

		if (place == PARENT_ROOT && !parent_pid)
			continue;
		print_place(&path, place, proc_root, place == PARENT_ROOT ? parent_pid : pid, start,
			    end, identity->path);
		if (path.failed)
			return -ENOMEM;
		err = try_path(path.data, read_build_id, identity, place == MAP_FILES, ret);
		if (!err)
			return 0;
		if (err == -ESTALE && place != MAP_FILES)
			another_was_found = true;
	}
	*ret = (struct opened_file){.fd = -1, .another_was_found = another_was_found};
	return 0;
}

/*
 * The auxiliary vector has the address but not the size. The kernel maps the whole image, section
 * headers included, which come last.
 */
static size_t vdso_size(const char *image)
{
	ElfW(Ehdr) header;
	size_t size;

	memcpy(&header, image, sizeof(header));
	size = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
	for (size_t i = 0; i < header.e_phnum; i++) {
		ElfW(Phdr) segment;

		memcpy(&segment, image + header.e_phoff + i * header.e_phentsize, sizeof(segment));
		if (segment.p_type == PT_LOAD && segment.p_offset + segment.p_filesz > size)
			size = segment.p_offset + segment.p_filesz;
	}
	return size;
}

static int write_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t written = write(fd, data, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		data += written;
		size -= (size_t)written;
	}
	return 0;
}

int file_opener_open_vdso(int *ret)
{
	_cleanup_close_ int fd = -1;
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
	int err;

	if (!image || memcmp(image, ELFMAG, SELFMAG) != 0)
		return -ENOENT;
	if (vdso_size(image) > VDSO_MAX_BYTES)
		return -EFBIG;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = write_all(fd, image, vdso_size(image));
	if (err)
		return err;
	*ret = fd;
	fd = -1;
	return 0;
}
