/*
 * One ELF file, by file descriptor: its identity, its address spaces, and what it knows about
 * functions. Everything is read when it is first asked for, with pread: a file that shrinks while
 * we read it is an error, never a SIGBUS, and a large file costs memory only for the parts that
 * were asked for.
 *
 * ELF files are untrusted input. What is broken is treated as missing.
 *
 * Not thread-safe: one thread at a time may use an objfile. Different objfiles are independent,
 * also when they were opened on the same file.
 */
#ifndef OBJFILE_OBJFILE_H
#define OBJFILE_OBJFILE_H

#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "objfile/build_id.h"
#include "objfile/frame_info.h"
#include "objfile/symbol_table.h"

struct objfile;

/*
 * fd          open for reading; duplicated, the caller keeps its own
 * path        of the file, for messages and to find a separate debug file beside it. Copied
 * debug_root  folder of separate debug files ("/usr/lib/debug"), or several with `:` between them;
 *             NULL: none are looked for. Copied
 * ret         unref it
 *
 * Returns 0, -ENOEXEC (not ELF), -EINVAL (broken ELF headers), -ENOMEM or -errno of dup().
 */
_must_check_ int objfile_open(int fd, const char *path, const char *debug_root,
			      struct objfile **ret, struct error *error);
struct objfile *objfile_ref(struct objfile *objfile);
void objfile_unref(struct objfile *objfile); /* NULL is fine */
static inline void objfile_unrefp(struct objfile **objfile)
{
	objfile_unref(*objfile);
}

/*
 * From now on, a debug file that is not on this machine is asked for at the servers that
 * DEBUGINFOD_URLS names, if any.
 */
void objfile_allow_downloads(struct objfile *objfile);

/* All borrowed until the last unref. */
const char *objfile_get_path(const struct objfile *objfile);
const uint8_t *objfile_get_build_id(const struct objfile *objfile, uint8_t *ret_size);
Elf *objfile_get_elf(const struct objfile *objfile);
uint64_t objfile_get_entry(const struct objfile *objfile); /* ELF address; 0: none */

/* Where the file's first byte lies in the ELF's own address space; 0: unknown, or there. */
uint64_t objfile_get_base(const struct objfile *objfile);

/* Whether it has a full symbol table of its own, not only the dynamic one. */
bool objfile_has_symtab(const struct objfile *objfile);

/*
 * Where a byte of the file lies in the ELF's own address space, by PT_LOAD; an executable segment
 * is preferred where two share a page of the file. Returns 0 or -ENOENT.
 */
_must_check_ int objfile_get_elf_address(const struct objfile *objfile, uint64_t file_offset,
					 uint64_t *ret);

/*
 * What has been added to the ELF addresses of a mapping that starts at the address, and at the byte
 * of the file. A mapping begins at a page, its segment perhaps inside that page, so the page's last
 * byte is what counts. Returns 0 or -ENOENT.
 */
_must_check_ int objfile_get_bias(const struct objfile *objfile, uint64_t start,
				  uint64_t file_offset, uint64_t *ret);

/* Whether an executable segment holds the ELF address. */
bool objfile_is_code(const struct objfile *objfile, uint64_t elf_address);

/*
 * The bytes of an executable segment at the ELF address, as they are in the file. Returns 0 or
 * -ENOENT (not all of them are there).
 */
_must_check_ int objfile_read_code(const struct objfile *objfile, uint64_t elf_address, void *ret,
				   size_t size);

/*
 * The function symbol that holds the address: of the file itself; where that has no .symtab also
 * of .gnu_debugdata and of the separate debug file.
 *
 * ret   the name is borrowed until the last unref
 *
 * Returns 0, -ENOENT or -ENOMEM.
 */
_must_check_ int objfile_find_symbol(struct objfile *objfile, uint64_t elf_address,
				     struct symbol *ret);

/* Call-frame information; see frame_info.h. Returns 0 or -ENOMEM; borrowed until the last unref. */
_must_check_ int objfile_get_frame_info(struct objfile *objfile, struct frame_info **ret);

/*
 * Debug information of the file itself or of its separate debug file; NULL when there is none, or
 * when it refers to a file of common parts (dwz) that is not there. Borrowed until
 * objfile_close_dwarf() or the last unref.
 */
Dwarf *objfile_get_dwarf(struct objfile *objfile);

/* Size in bytes of the debug sections that objfile_get_dwarf() holds in memory; 0: none. */
uint64_t objfile_get_dwarf_size(const struct objfile *objfile);

/* Give back the memory of debug information; it is read again when next asked for. */
void objfile_close_dwarf(struct objfile *objfile);

#endif
