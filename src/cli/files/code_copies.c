#include "cli/files/code_copies.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

void code_copies_release(struct code_copies *copies)
{
	tar_release(&copies->tar);
}

/* Bytes as a memfd, because the ELF reader takes a descriptor. */
static int open_bytes(const uint8_t *data, size_t size)
{
	int fd = memfd_create("copy of code", MFD_CLOEXEC);

	if (fd >= 0 && file_write_fd(fd, data, size)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* A later file with the same path replaces an earlier one, as when tar extracts them. */
static int open_in_archive(struct code_copies *copies, const char *path)
{
	const struct import *import = copies->import;
	const struct tar_file *found = NULL;

	if (!tar_detect(import->data, import->size))
		return -1;
	if (!copies->is_listed && tar_read(&copies->tar, import->data, import->size))
		return -1;
	copies->is_listed = true;
	array_for_each (&copies->tar.files, file)
		if (string_equals(tar_get_path(&copies->tar, file), path))
			found = file;
	return found ? open_bytes(import->data + found->offset, found->size) : -1;
}

int code_copies_open(struct code_copies *copies, const char *path)
{
	const struct import *import = copies->import;
	const uint8_t *data;
	size_t size;

	if (!import->open_member)
		return open_in_archive(copies, path);
	if (import->open_member(import->context, path, &data, &size))
		return -1;
	return open_bytes(data, size);
}
