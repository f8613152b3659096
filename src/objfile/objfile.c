#include "objfile/objfile.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "base/text.h"
#include "objfile/debug_file.h"
#include "objfile/debuginfod.h"
#include "objfile/mini_debug_info.h"

#define PAGE_BYTES 4096

/* libdw keeps every debug section in memory: beyond this, lines and inlined calls go missing. */
#define DEBUG_SECTIONS_MAX_BYTES (2ull << 30)

struct segment {
	uint64_t file_offset;
	uint64_t file_size;
	uint64_t elf_address;
	uint64_t memory_size;
	bool is_executable;
};

/* A file that libelf reads from. */
struct elf_source {
	int fd;
	Elf *elf; /* NULL: not open */
};

struct objfile {
	unsigned int num_refs;
	char *path;
	char *debug_root; /* NULL: no separate debug files */
	bool allows_downloads;
	struct elf_source main;
	ARRAY(struct segment) segments;
	uint64_t entry;
	uint8_t build_id[BUILD_ID_SIZE_MAX];
	uint8_t build_id_size;
	bool has_symtab;

	bool was_debug_file_sought;
	bool was_dwarf_sought;
	struct elf_source debug; /* the separate debug file */
	struct elf_source alternate;
	Dwarf *dwarf;
	uint64_t dwarf_size; /* in bytes, of its debug sections */
	Dwarf *alternate_dwarf;

	struct symbol_table *symbols; /* NULL: not read yet */
	struct text mini_bytes;       /* unpacked .gnu_debugdata */
	Elf *mini_elf;
	struct frame_info *frame_info; /* NULL: not read yet */
};

static void elf_source_close(struct elf_source *source)
{
	elf_end(source->elf);
	if (source->fd >= 0)
		close(source->fd);
	*source = (struct elf_source){.fd = -1};
}

/* Takes ownership of fd. */
static int elf_source_open(int fd, struct elf_source *ret)
{
	ret->fd = fd;
	elf_version(EV_CURRENT);
	/* Not by mmap: a user may cut his file short at any time. */
	ret->elf = elf_begin(fd, ELF_C_READ, NULL);
	if (ret->elf && elf_kind(ret->elf) == ELF_K_ELF)
		return 0;
	int err = ret->elf ? -ENOEXEC : -EINVAL;

	elf_source_close(ret);
	return err;
}

static int read_segments(struct objfile *objfile)
{
	size_t num_segments;

	if (elf_getphdrnum(objfile->main.elf, &num_segments))
		return -EINVAL;
	for (size_t i = 0; i < num_segments; i++) {
		struct segment *segment;
		GElf_Phdr header;

		if (!gelf_getphdr(objfile->main.elf, (int)i, &header))
			return -EINVAL;
		if (header.p_type != PT_LOAD)
			continue;
		segment = array_add(&objfile->segments);
		if (!segment)
			return -ENOMEM;
		*segment = (struct segment){
			.file_offset = header.p_offset,
			.file_size = header.p_filesz,
			.elf_address = header.p_vaddr,
			.memory_size = header.p_memsz,
			.is_executable = header.p_flags & PF_X,
		};
	}
	return 0;
}

static bool find_symtab(Elf *elf)
{
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		GElf_Shdr header;

		if (gelf_getshdr(scn, &header) && header.sh_type == SHT_SYMTAB && header.sh_size)
			return true;
	}
	return false;
}

static int read_headers(struct objfile *objfile)
{
	GElf_Ehdr header;
	int err;

	if (!gelf_getehdr(objfile->main.elf, &header))
		return -EINVAL;
	objfile->entry = header.e_entry;
	err = read_segments(objfile);
	if (err)
		return err;
	objfile->has_symtab = find_symtab(objfile->main.elf);
	if (build_id_read_elf(objfile->main.elf, objfile->build_id, &objfile->build_id_size))
		objfile->build_id_size = 0;
	return 0;
}

static struct objfile *objfile_new(const char *path, const char *debug_root)
{
	struct objfile *objfile = calloc(1, sizeof(*objfile));

	if (!objfile)
		return NULL;
	objfile->num_refs = 1;
	objfile->main.fd = objfile->debug.fd = objfile->alternate.fd = -1;
	objfile->path = strdup(path);
	objfile->debug_root = debug_root ? strdup(debug_root) : NULL;
	if (!objfile->path || (debug_root && !objfile->debug_root)) {
		objfile_unref(objfile);
		return NULL;
	}
	return objfile;
}

int objfile_open(int fd, const char *path, const char *debug_root, struct objfile **ret,
		 struct error *error)
{
	_cleanup_(objfile_unrefp) struct objfile *objfile = objfile_new(path, debug_root);
	int own_fd;
	int err;

	if (!objfile)
		return error_set(error, -ENOMEM, "%s: out of memory", path);
	own_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (own_fd < 0)
		return error_set(error, -errno, "%s: %s", path, strerror(errno));
	err = elf_source_open(own_fd, &objfile->main);
	if (err)
		return error_set(error, err, "%s: at byte 0: expected an ELF header", path);
	err = read_headers(objfile);
	if (err)
		return error_set(error, err, "%s: broken ELF program headers", path);
	*ret = return_ptr(objfile);
	return 0;
}

struct objfile *objfile_ref(struct objfile *objfile)
{
	objfile->num_refs++;
	return objfile;
}

void objfile_unref(struct objfile *objfile)
{
	if (!objfile || --objfile->num_refs)
		return;
	objfile_close_dwarf(objfile);
	symbol_table_free(objfile->symbols);
	frame_info_free(objfile->frame_info);
	elf_end(objfile->mini_elf);
	text_release(&objfile->mini_bytes);
	elf_source_close(&objfile->debug);
	elf_source_close(&objfile->main);
	array_release(&objfile->segments);
	free(objfile->debug_root);
	free(objfile->path);
	free(objfile);
}

void objfile_allow_downloads(struct objfile *objfile)
{
	objfile->allows_downloads = true;
}

const char *objfile_get_path(const struct objfile *objfile)
{
	return objfile->path;
}

const uint8_t *objfile_get_build_id(const struct objfile *objfile, uint8_t *ret_size)
{
	*ret_size = objfile->build_id_size;
	return objfile->build_id;
}

Elf *objfile_get_elf(const struct objfile *objfile)
{
	return objfile->main.elf;
}

uint64_t objfile_get_entry(const struct objfile *objfile)
{
	return objfile->entry;
}

uint64_t objfile_get_base(const struct objfile *objfile)
{
	uint64_t base = UINT64_MAX;

	array_for_each (&objfile->segments, segment)
		if (segment->elf_address >= segment->file_offset &&
		    segment->elf_address - segment->file_offset < base)
			base = segment->elf_address - segment->file_offset;
	return base == UINT64_MAX ? 0 : base;
}

bool objfile_has_symtab(const struct objfile *objfile)
{
	return objfile->has_symtab;
}

int objfile_get_elf_address(const struct objfile *objfile, uint64_t file_offset, uint64_t *ret)
{
	const struct segment *found = NULL;

	array_for_each (&objfile->segments, segment) {
		if (file_offset < segment->file_offset ||
		    file_offset - segment->file_offset >= segment->file_size)
			continue;
		if (!found || (segment->is_executable && !found->is_executable))
			found = segment;
	}
	if (!found)
		return -ENOENT;
	*ret = file_offset - found->file_offset + found->elf_address;
	return 0;
}

int objfile_get_bias(const struct objfile *objfile, uint64_t start, uint64_t file_offset,
		     uint64_t *ret)
{
	const uint64_t last = PAGE_BYTES - 1;
	uint64_t elf_address;

	if (!objfile_get_elf_address(objfile, file_offset + last, &elf_address))
		*ret = start + last - elf_address;
	else if (!objfile_get_elf_address(objfile, file_offset, &elf_address))
		*ret = start - elf_address;
	else
		return -ENOENT;
	return 0;
}

bool objfile_is_code(const struct objfile *objfile, uint64_t elf_address)
{
	array_for_each (&objfile->segments, segment) {
		if (segment->is_executable && elf_address >= segment->elf_address &&
		    elf_address - segment->elf_address < segment->memory_size)
			return true;
	}
	return false;
}

int objfile_read_code(const struct objfile *objfile, uint64_t elf_address, void *ret, size_t size)
{
	array_for_each (&objfile->segments, segment) {
		uint64_t skipped = elf_address - segment->elf_address;

		if (!segment->is_executable || elf_address < segment->elf_address ||
		    skipped > segment->file_size || size > segment->file_size - skipped)
			continue;
		return pread(objfile->main.fd, ret, size,
			     (off_t)(segment->file_offset + skipped)) == (ssize_t)size
			       ? 0
			       : -ENOENT;
	}
	return -ENOENT;
}

static int download_debug_file(const struct objfile *objfile, int *ret)
{
	if (!objfile->allows_downloads || !objfile->build_id_size || !debuginfod_is_wanted())
		return -ENOENT;
	return debuginfod_find_debug_file(objfile->build_id, objfile->build_id_size, ret);
}

/* The separate debug file, or NULL. */
static Elf *get_debug_elf(struct objfile *objfile)
{
	struct debug_file_query query = {
		.elf = objfile->main.elf,
		.fd = objfile->main.fd,
		.path = objfile->path,
		.debug_root = objfile->debug_root,
		.build_id = objfile->build_id,
		.build_id_size = objfile->build_id_size,
	};
	int fd;
	int err;

	if (objfile->was_debug_file_sought || !objfile->debug_root)
		return objfile->debug.elf;
	objfile->was_debug_file_sought = true;
	err = debug_file_open(&query, &fd);
	if (err)
		err = download_debug_file(objfile, &fd);
	if (!err && elf_source_open(fd, &objfile->debug))
		log_debug("%s: its debug file is not ELF, skipping", objfile->path);
	return objfile->debug.elf;
}

static Elf *open_mini_elf(struct objfile *objfile)
{
	if (mini_debug_info_read(objfile->main.elf, &objfile->mini_bytes))
		return NULL;
	objfile->mini_elf = elf_memory(objfile->mini_bytes.data, objfile->mini_bytes.length);
	if (objfile->mini_elf && elf_kind(objfile->mini_elf) != ELF_K_ELF) {
		elf_end(objfile->mini_elf);
		objfile->mini_elf = NULL;
	}
	return objfile->mini_elf;
}

static int read_symbols(struct objfile *objfile)
{
	Elf *elfs[3] = {objfile->main.elf};
	size_t num_elfs = 1;

	if (!objfile->has_symtab) {
		elfs[num_elfs] = open_mini_elf(objfile);
		num_elfs += elfs[num_elfs] != NULL;
		elfs[num_elfs] = get_debug_elf(objfile);
		num_elfs += elfs[num_elfs] != NULL;
	}
	return symbol_table_new(elfs, num_elfs, &objfile->symbols);
}

int objfile_find_symbol(struct objfile *objfile, uint64_t elf_address, struct symbol *ret)
{
	struct frame_info *frame_info;
	struct symbol symbol;
	uint64_t start;
	int err = objfile->symbols ? 0 : read_symbols(objfile);

	if (err)
		return err;
	err = symbol_table_find(objfile->symbols, elf_address, &symbol);
	if (err)
		return err;
	/* A symbol without size must not run on into a function that has none of its own. */
	if (!symbol.is_size_known) {
		err = objfile_get_frame_info(objfile, &frame_info);
		if (err)
			return err;
		err = frame_info_find_function(frame_info, elf_address, &start);
		if (err == -ENOMEM || (!err && start > symbol.start))
			return err ? err : -ENOENT;
	}
	*ret = symbol;
	return 0;
}

int objfile_get_frame_info(struct objfile *objfile, struct frame_info **ret)
{
	int err = 0;

	if (!objfile->frame_info)
		err = frame_info_new(objfile->main.elf, &objfile->frame_info);
	if (!err)
		*ret = objfile->frame_info;
	return err;
}

/* Whether the file has debug information, of a size that we want to hold: *ret_size, in bytes. */
static bool has_debug_info(Elf *elf, const char *path, uint64_t *ret_size)
{
	bool is_found = false;
	uint64_t size = 0;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		GElf_Shdr header;
		GElf_Chdr packed;
		const char *name;

		if (!gelf_getshdr(scn, &header) || header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (!name ||
		    (!string_starts_with(name, ".debug_") && !string_starts_with(name, ".zdebug_")))
			continue;
		if ((header.sh_flags & SHF_COMPRESSED) && gelf_getchdr(scn, &packed))
			header.sh_size = packed.ch_size;
		if (header.sh_size > DEBUG_SECTIONS_MAX_BYTES)
			size = DEBUG_SECTIONS_MAX_BYTES;
		size += header.sh_size;
		if (string_ends_with(name, "debug_info") && header.sh_size)
			is_found = true;
	}
	if (is_found && size > DEBUG_SECTIONS_MAX_BYTES) {
		log_debug("%s: debug information is too large, skipping", path);
		return false;
	}
	*ret_size = size;
	return is_found;
}

/*
 * libdw would open the alternate file by itself, at any path that the file says. We choose it;
 * without it, references into it would make wrong names, so that there are better none.
 */
static int open_alternate(struct objfile *objfile)
{
	int fd;
	int err = objfile->debug_root
			  ? debug_file_open_alternate(objfile->dwarf, objfile->debug_root, &fd)
			  : -ENOENT;

	if (err)
		return err;
	err = elf_source_open(fd, &objfile->alternate);
	if (err)
		return err;
	objfile->alternate_dwarf = dwarf_begin_elf(objfile->alternate.elf, DWARF_C_READ, NULL);
	if (!objfile->alternate_dwarf)
		return -EINVAL;
	dwarf_setalt(objfile->dwarf, objfile->alternate_dwarf);
	return 0;
}

Dwarf *objfile_get_dwarf(struct objfile *objfile)
{
	Elf *elf = objfile->main.elf;
	uint64_t size;
	int err;

	if (objfile->was_dwarf_sought)
		return objfile->dwarf;
	objfile->was_dwarf_sought = true;
	if (!has_debug_info(elf, objfile->path, &size)) {
		elf = get_debug_elf(objfile);
		if (!elf || !has_debug_info(elf, objfile->path, &size))
			return NULL;
	}
	objfile->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (!objfile->dwarf)
		return NULL;
	objfile->dwarf_size = size;
	err = open_alternate(objfile);
	if (err && err != -ENODATA) {
		log_debug("%s: the file its debug information refers to is missing, skipping",
			  objfile->path);
		objfile_close_dwarf(objfile);
		objfile->was_dwarf_sought = true;
	}
	return objfile->dwarf;
}

void objfile_close_dwarf(struct objfile *objfile)
{
	if (objfile->dwarf)
		dwarf_end(objfile->dwarf);
	if (objfile->alternate_dwarf)
		dwarf_end(objfile->alternate_dwarf);
	elf_source_close(&objfile->alternate);
	objfile->dwarf = NULL;
	objfile->alternate_dwarf = NULL;
	objfile->dwarf_size = 0;
	objfile->was_dwarf_sought = false;
}

uint64_t objfile_get_dwarf_size(const struct objfile *objfile)
{
	return objfile->dwarf_size;
}
