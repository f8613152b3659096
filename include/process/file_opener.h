/*
 * Opens the file of a mapping. If several paths may lead to it, one is chosen that has the mapped
 * file, and not a replacement.
 */
#ifndef PROCESS_FILE_OPENER_H
#define PROCESS_FILE_OPENER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "process/file_table.h"

struct slow_opener;

struct opened_file {
	int fd;         /* -1 if no path leads to the file, or it is known; the caller closes it */
	uint32_t known; /* its number, or FILE_NONE */
	uint8_t build_id[FILE_BUILD_ID_MAX_BYTES]; /* read from the file */
	uint8_t build_id_size;                     /* 0: no build ID, or unreadable */
	uint32_t dev_major;                        /* of the open file */
	uint32_t dev_minor;
	uint64_t inode;
	struct file_version version; /* read before the build ID; of the original if it is a copy */
	bool is_copy;
	bool is_elf;
	bool another_was_found; /* fd is -1, but a path leads to a file with another identity */
};

/* Settings shared by all searches. */
struct file_opener {
	const char *proc_root;
	struct slow_opener *slow_opener;    /* NULL: wait for file systems */
	struct file_build_id_reader reader; /* its function may be NULL */
	/*
	 * The number of a known file, by device and inode, and by build ID if the identity has one,
	 * else by version: then it is not opened. FILE_NONE if it is not known.
	 */
	uint32_t (*find_known)(const struct file_identity *identity,
			       const struct opened_file *found, const void *context);
	const void *context;
	/*
	 * Root's or our file with this path and build ID is known. Then only the process's own view
	 * is searched, or ours where it is the same.
	 */
	bool has_trusted;
};

/*
 * Open the file that a process maps. Arguments are those of file_table_add(); the identity's path
 * has no " (deleted)" any more.
 *
 * Only regular files are opened, without blocking, so that a FIFO or a device does no harm.
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int file_opener_open(const struct file_opener *opener,
				  const struct mapped_range *range,
				  const struct file_identity *identity, struct opened_file *ret);

/*
 * Open a copy of our own vdso, which is that of every process of the same word size: the kernel
 * maps it from no file.
 *
 * ret   file descriptor of memory with the ELF image; the caller closes it
 *
 * Returns 0, -ENOENT (there is no vdso) or another negative errno.
 *
 * Source: getauxval(3) AT_SYSINFO_EHDR, vdso(7).
 */
_must_check_ int file_opener_open_vdso(int *ret);

#endif
