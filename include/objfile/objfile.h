/*
 * An ELF file, by file descriptor: its identity, its address spaces, and its data about functions.
 * Everything is read on first use, with pread. A file that shrinks while we read it is an error,
 * never a SIGBUS. A large file takes memory only for the parts in use.
 *
 * ELF files are untrusted input. Malformed parts are treated as missing.
 *
 * Not thread-safe: one thread at a time may use an objfile. Different objfiles are independent,
 * also when they were opened on the same file.
 */
#ifndef OBJFILE_OBJFILE_H
#define OBJFILE_OBJFILE_H

#include <elfutils/libdw.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/error.h"
#include "objfile/debug_file.h"
#include "objfile/symbol_table.h"

/* Build IDs: a hash that the linker stores in a note, and that identifies the code of a file. */

#define BUILD_ID_SIZE_MAX 20

/*
 * Find the NT_GNU_BUILD_ID note in the bytes of a PT_NOTE segment or note section.
 *
 * align        of the segment: 4 or 8 bytes
 * ret, ret_size  the id, truncated to BUILD_ID_SIZE_MAX bytes, and its size in bytes
 *
 * Returns 0, -ENODATA (no such note) or -EINVAL (malformed notes).
 *
 * Source: ELF gABI "Note Section"; binutils --build-id.
 */
_must_check_ int build_id_read_notes(const void *notes, size_t size, size_t align, uint8_t *ret,
				     uint8_t *ret_size);

/*
 * The build ID of an open ELF file (32 or 64 bit, read with pread; the file position stays).
 * Headers that point outside the file are -EINVAL. Returns as build_id_read_notes(), or -ENOEXEC
 * when it is not ELF.
 */
_must_check_ int build_id_read_fd(int fd, uint8_t *ret, uint8_t *ret_size);

/* The same for an ELF file that libelf has open already. */
_must_check_ int build_id_read_elf(Elf *elf, uint8_t *ret, uint8_t *ret_size);

/*
 * Functions by call-frame information (.eh_frame): their bounds, and whether they are the outermost
 * of their thread. Stripped files have it, too.
 *
 * Not thread-safe.
 */

struct architecture;
struct frame_info;

/*
 * elf   borrowed, must outlive the result. Its .eh_frame is found by section, or by
 *       PT_GNU_EH_FRAME when there are no section headers. A file without any gives an empty
 *       result.
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int frame_info_new(Elf *elf, struct frame_info **ret);
void frame_info_free(struct frame_info *info);

/*
 * The start of the function that holds the address: of its frame description entry, to be exact,
 * and the cold part of a function has an entry of its own.
 *
 * Returns 0, -ENOENT or -ENOMEM. The first call reads the whole of .eh_frame.
 *
 * Source: Linux Standard Base 5, "Exception Frames".
 */
_must_check_ int frame_info_find_function(struct frame_info *info, uint64_t elf_address,
					  uint64_t *ret_start);

/* Bounds of a function, or of a gap between two. */
struct code_bounds {
	uint64_t start; /* ELF addresses */
	uint64_t end;   /* first address after it */
};

/*
 * The bounds of the function that holds the address. Returns -ENOENT if none does, with the bounds
 * of the gap: the end of the function before it (0: none) and the start of the next one
 * (UINT64_MAX: none). On -ENOMEM *ret is not set.
 */
_must_check_ int frame_info_find_bounds(struct frame_info *info, uint64_t elf_address,
					struct code_bounds *ret);

enum frame_outermost {
	FRAME_HAS_CALLER,
	FRAME_IS_OUTERMOST,  /* the return address is undefined */
	FRAME_NOT_DESCRIBED, /* no call-frame information for this address */
};

enum frame_outermost frame_info_is_outermost(struct frame_info *info, uint64_t elf_address);

struct objfile;

/*
 * fd          open for reading; duplicated, the caller keeps its own
 * path        of the file, for messages and to find a separate debug file beside it. Copied
 * debug_root  folder of separate debug files ("/usr/lib/debug"), or several with `:` between them;
 *             NULL: do not search. Copied
 * ret         unref it
 *
 * Returns 0, -ENOEXEC (not ELF), -EINVAL (malformed ELF headers), -ENOMEM or -errno of dup().
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
 * From now on, request a debug file that is not on this machine from the servers in
 * DEBUGINFOD_URLS, if any.
 */
void objfile_allow_downloads(struct objfile *objfile);

/* From now on, open debug files through this opener. Borrowed until the last unref. */
void objfile_set_opener(struct objfile *objfile, const struct debug_opener *opener);

/* All borrowed until the last unref. */
const char *objfile_get_path(const struct objfile *objfile);
const uint8_t *objfile_get_build_id(const struct objfile *objfile, uint8_t *ret_size);
Elf *objfile_get_elf(const struct objfile *objfile);

/* NULL: unknown. */
const struct architecture *objfile_get_architecture(const struct objfile *objfile);
uint64_t objfile_get_entry(const struct objfile *objfile); /* ELF address; 0: none */

/* ELF address of the file's first byte; 0: unknown, or there. */
uint64_t objfile_get_base(const struct objfile *objfile);

/* Whether it has a full symbol table of its own, not only the dynamic one. */
bool objfile_has_symtab(const struct objfile *objfile);

/* The file itself, .gnu_debugdata in it, and its separate debug file. */
#define OBJFILE_MAX_SYMBOL_FILES 3

/*
 * Those of these files whose symbols are used: the others only if the file's own symbol table was
 * stripped. Borrowed until the last unref. Returns their number.
 */
size_t objfile_get_symbol_files(struct objfile *objfile, Elf *ret[OBJFILE_MAX_SYMBOL_FILES]);

/* A loaded part of the file (PT_LOAD), and its ELF address. */
struct objfile_segment {
	uint64_t file_offset;
	uint64_t file_size; /* in bytes */
	uint64_t elf_address;
	uint64_t memory_size; /* in bytes */
	bool is_executable;
};

/* A file's data for resolving addresses in its mappings; independent of the objfile. */
struct objfile_layout {
	ARRAY(struct objfile_segment) segments;
};

/* The mapping of a part of the file. */
struct objfile_mapping {
	uint64_t start;
	uint64_t end;         /* first address after it */
	uint64_t file_offset; /* of start, in bytes */
};

/*
 * The bias of a mapping: the value added to the ELF addresses. It is determined by the segment in
 * the mapping, an executable one if there are several. Returns 0 or -ENOENT.
 */
_must_check_ int objfile_layout_get_bias(const struct objfile_layout *layout,
					 const struct objfile_mapping *mapping, uint64_t *ret);

/*
 * Read bytes of an executable segment at the ELF address from the file, which is open at fd.
 * Returns 0 or -ENOENT (not all of them are in the file).
 */
_must_check_ int objfile_layout_read_code(const struct objfile_layout *layout, int fd,
					  uint64_t elf_address, void *ret, size_t size);

/* Borrowed until the last unref. */
const struct objfile_layout *objfile_get_layout(const struct objfile *objfile);
int objfile_get_fd(const struct objfile *objfile);

/*
 * ELF address of a byte of the file, by PT_LOAD; if two segments share a page of the file, an
 * executable one is preferred. Returns 0 or -ENOENT.
 */
_must_check_ int objfile_get_elf_address(const struct objfile *objfile, uint64_t file_offset,
					 uint64_t *ret);

/* As objfile_layout_get_bias(). */
_must_check_ int objfile_get_bias(const struct objfile *objfile,
				  const struct objfile_mapping *mapping, uint64_t *ret);

/* Whether an executable segment holds the ELF address. */
bool objfile_is_code(const struct objfile *objfile, uint64_t elf_address);

/* As objfile_layout_read_code(). */
_must_check_ int objfile_read_code(const struct objfile *objfile, uint64_t elf_address, void *ret,
				   size_t size);

/*
 * The function symbol that holds the address, in the file itself and, if that has no .symtab, in
 * .gnu_debugdata and the separate debug file. A symbol without size extends to the end of its
 * function by objfile_find_function().
 *
 * ret   the name is borrowed until the last unref
 *
 * Returns 0, -ENOENT or -ENOMEM.
 */
_must_check_ int objfile_find_symbol(struct objfile *objfile, uint64_t elf_address,
				     struct symbol *ret);

/*
 * The start of the function that holds the address, with or without a name, by call-frame
 * information. For code after a symbol without size, it is also found by following the
 * instructions. For code without any description, it is found by the padding before it, if
 * functions around have some. Returns 0, -ENOENT or -ENOMEM.
 */
_must_check_ int objfile_find_function(struct objfile *objfile, uint64_t elf_address,
				       uint64_t *ret_start);

/* Evidence from a call instruction about the frame below the one that it returns to. */
enum call_proof {
	CALL_UNPROVEN,  /* it is indirect, or its target cannot be followed */
	CALL_PROVEN,    /* it leads to that frame */
	CALL_DISPROVEN, /* it leads elsewhere: a frame between the two is missing */
};

#define OBJFILE_ELSEWHERE UINT64_MAX

/*
 * Whether the call that ends at return_address has led to the frame at `callee`, directly or by
 * tail calls. Both are ELF addresses; callee is OBJFILE_ELSEWHERE for code outside of the file.
 *
 * Results are cached. Returns 0 or -ENOMEM. Nothing is proven for architectures without read_direct_call.
 */
_must_check_ int objfile_prove_call(struct objfile *objfile, uint64_t return_address,
				    uint64_t callee, enum call_proof *ret);

/* Call-frame information; see frame_info.h. Returns 0 or -ENOMEM; borrowed until the last unref. */
_must_check_ int objfile_get_frame_info(struct objfile *objfile, struct frame_info **ret);

/*
 * Debug information of the file itself or of its separate debug file. NULL if there is none, or if
 * it refers to a missing file of common parts (dwz). Borrowed until objfile_drop_dwarf() or the last
 * unref.
 */
Dwarf *objfile_get_dwarf(struct objfile *objfile);

/* Whether objfile_get_dwarf() found debug information that refers to such a missing file. */
bool objfile_lacks_alternate(const struct objfile *objfile);

/*
 * Free the units and lines: libdw keeps all it has read. Borrowed data becomes invalid.
 *
 * ret   the debug information, as objfile_get_dwarf()
 *
 * Returns 0, or -ENOMEM; the objfile has no debug information then.
 */
_must_check_ int objfile_drop_dwarf(struct objfile *objfile, Dwarf **ret);

/*
 * Sections of an ELF file by name.
 */

/* The first section of this name that has bytes in the file, readable or not; NULL: none. */
Elf_Scn *elf_section_find(Elf *elf, const char *wanted, GElf_Shdr *ret);

#endif
