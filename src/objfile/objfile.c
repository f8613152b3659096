#include "objfile/objfile.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "base/text.h"
#include "objfile/architecture.h"
#include "objfile/call_proof.h"
#include "objfile/debug_file.h"
#include "objfile/dwarf_source.h"
#include "objfile/elf_file.h"
#include "objfile/mini_debug_info.h"
#include "objfile/range_map.h"

/* Code behind a symbol without size is followed this far. */
#define FLOW_MAX_BYTES (4ull << 20)

/* Maximum size of a symbol without size whose code cannot be followed. */
#define UNKNOWN_FUNCTION_BYTES 4096

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
	const struct debug_opener *opener; /* of debug files; NULL: we may open them */
	struct elf_source main;
	struct objfile_layout layout;
	uint64_t entry;
	uint16_t machine;
	uint8_t build_id[BUILD_ID_SIZE_MAX];
	uint8_t build_id_size;
	bool has_symtab;

	bool was_debug_file_sought;
	bool was_dwarf_sought;
	bool lacks_alternate;
	struct elf_source debug; /* the separate debug file */
	struct dwarf_source dwarf;
	int alternate_fd;
	struct dwarf_source alternate; /* alternate file of the debug information (dwz) */

	/*
	 * The block of code without description that was followed last, and the functions found
	 * there. Addresses are looked up in ascending order, so one block is enough.
	 */
	struct code_bounds followed;
	struct range_map flow_functions;

	struct symbol_table *symbols; /* NULL: not read yet */
	bool was_mini_elf_sought;
	struct text mini_bytes; /* decompressed .gnu_debugdata */
	Elf *mini_elf;
	struct frame_info *frame_info; /* NULL: not read yet */
	struct proven_calls calls;     /* calls checked so far */
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
	int err = elf_file_start(fd, &ret->elf);

	ret->fd = fd;
	if (err)
		elf_source_close(ret);
	return err;
}

static int read_segments(struct objfile *objfile)
{
	size_t num_segments;

	if (elf_getphdrnum(objfile->main.elf, &num_segments))
		return -EINVAL;
	for (size_t i = 0; i < num_segments; i++) {
		struct objfile_segment *segment;
		GElf_Phdr header;

		if (!gelf_getphdr(objfile->main.elf, (int)i, &header))
			return -EINVAL;
		if (header.p_type != PT_LOAD)
			continue;
		segment = array_add(&objfile->layout.segments);
		if (!segment)
			return -ENOMEM;
		*segment = (struct objfile_segment){
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
	objfile->machine = header.e_machine;
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
	objfile->main.fd = objfile->debug.fd = objfile->alternate_fd = -1;
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

static void close_dwarf(struct objfile *objfile)
{
	dwarf_source_close(&objfile->dwarf);
	dwarf_source_close(&objfile->alternate);
	cleanup_closep(&objfile->alternate_fd);
	objfile->alternate_fd = -1;
	objfile->was_dwarf_sought = false;
}

void objfile_unref(struct objfile *objfile)
{
	if (!objfile || --objfile->num_refs)
		return;
	close_dwarf(objfile);
	symbol_table_free(objfile->symbols);
	frame_info_free(objfile->frame_info);
	proven_calls_release(&objfile->calls);
	range_map_release(&objfile->flow_functions);
	elf_end(objfile->mini_elf);
	text_release(&objfile->mini_bytes);
	elf_source_close(&objfile->debug);
	elf_source_close(&objfile->main);
	array_release(&objfile->layout.segments);
	free(objfile->debug_root);
	free(objfile->path);
	free(objfile);
}

void objfile_allow_downloads(struct objfile *objfile)
{
	objfile->allows_downloads = true;
}

void objfile_set_opener(struct objfile *objfile, const struct debug_opener *opener)
{
	objfile->opener = opener;
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

const struct objfile_layout *objfile_get_layout(const struct objfile *objfile)
{
	return &objfile->layout;
}

int objfile_get_fd(const struct objfile *objfile)
{
	return objfile->main.fd;
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

	array_for_each (&objfile->layout.segments, segment)
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
	const struct objfile_segment *found = NULL;

	array_for_each (&objfile->layout.segments, segment) {
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

int objfile_get_bias(const struct objfile *objfile, const struct objfile_mapping *mapping,
		     uint64_t *ret)
{
	return objfile_layout_get_bias(&objfile->layout, mapping, ret);
}

bool objfile_is_code(const struct objfile *objfile, uint64_t elf_address)
{
	array_for_each (&objfile->layout.segments, segment) {
		if (segment->is_executable && elf_address >= segment->elf_address &&
		    elf_address - segment->elf_address < segment->memory_size)
			return true;
	}
	return false;
}

int objfile_read_code(const struct objfile *objfile, uint64_t elf_address, void *ret, size_t size)
{
	return objfile_layout_read_code(&objfile->layout, objfile->main.fd, elf_address, ret, size);
}

static int download_debug_file(const struct objfile *objfile, int *ret)
{
	if (!objfile->allows_downloads || !objfile->build_id_size || !debuginfod_is_enabled())
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
		.opener = objfile->opener,
	};
	int fd;

	if (objfile->was_debug_file_sought || !objfile->debug_root)
		return objfile->debug.elf;
	objfile->was_debug_file_sought = true;
	if (debug_file_open(&query, &fd) && download_debug_file(objfile, &fd))
		return NULL; /* not found, here or on a server */
	if (elf_source_open(fd, &objfile->debug))
		log_debug("%s: its debug file is not an ELF file, skipping", objfile->path);
	return objfile->debug.elf;
}

static Elf *open_mini_elf(struct objfile *objfile)
{
	if (objfile->was_mini_elf_sought)
		return objfile->mini_elf;
	objfile->was_mini_elf_sought = true;
	if (mini_debug_info_read(objfile->main.elf, &objfile->mini_bytes))
		return NULL;
	objfile->mini_elf = elf_memory(objfile->mini_bytes.data, objfile->mini_bytes.length);
	if (objfile->mini_elf && elf_kind(objfile->mini_elf) != ELF_K_ELF) {
		elf_end(objfile->mini_elf);
		objfile->mini_elf = NULL;
	}
	return objfile->mini_elf;
}

size_t objfile_get_symbol_files(struct objfile *objfile, Elf *ret[OBJFILE_MAX_SYMBOL_FILES])
{
	size_t num_elfs = 0;

	ret[num_elfs++] = objfile->main.elf;
	if (objfile->has_symtab)
		return num_elfs;
	ret[num_elfs] = open_mini_elf(objfile);
	num_elfs += ret[num_elfs] != NULL;
	ret[num_elfs] = get_debug_elf(objfile);
	return num_elfs + (ret[num_elfs] != NULL);
}

static int read_symbols(struct objfile *objfile)
{
	Elf *elfs[OBJFILE_MAX_SYMBOL_FILES];
	size_t num_elfs = objfile_get_symbol_files(objfile, elfs);

	return symbol_table_new(elfs, num_elfs, &objfile->symbols);
}

/* Find the functions of a stretch of code that nothing describes. */
static int follow_code(struct objfile *objfile, const struct code_bounds *stretch)
{
	const struct architecture *architecture = objfile_get_architecture(objfile);
	uint64_t size = stretch->end - stretch->start;
	_cleanup_free_ uint8_t *code = NULL;
	int err;

	if (size > FLOW_MAX_BYTES)
		size = FLOW_MAX_BYTES;
	code = malloc(size);
	if (!code)
		return -ENOMEM;
	range_map_release(&objfile->flow_functions);
	objfile->followed = (struct code_bounds){0};
	if (architecture && architecture->split_code &&
	    !objfile_read_code(objfile, stretch->start, code, size))
		err = architecture->split_code(code, size, stretch->start,
					       &objfile->flow_functions);
	else
		err = range_map_add(&objfile->flow_functions, stretch->start,
				    stretch->start + (size < UNKNOWN_FUNCTION_BYTES
							      ? size
							      : UNKNOWN_FUNCTION_BYTES),
				    0);
	if (err)
		return err;
	err = range_map_finish(&objfile->flow_functions);
	if (err)
		return err;
	objfile->followed = *stretch;
	return 0;
}

/*
 * The function that holds the address. symbol: the one without size that may extend there, or NULL.
 */
static int find_bounds(struct objfile *objfile, const struct symbol *symbol, uint64_t elf_address,
		       struct code_bounds *ret)
{
	struct frame_info *frame_info;
	const struct range *function;
	struct code_bounds stretch;
	int err = objfile_get_frame_info(objfile, &frame_info);

	if (err)
		return err;
	err = frame_info_find_bounds(frame_info, elf_address, &stretch);
	if (!err)
		*ret = stretch;
	if (err != -ENOENT || !symbol)
		return err;
	if (stretch.start < symbol->start)
		stretch.start = symbol->start;
	if (stretch.end > symbol->end)
		stretch.end = symbol->end;
	if (elf_address < objfile->followed.start || elf_address >= objfile->followed.end) {
		err = follow_code(objfile, &stretch);
		if (err)
			return err;
	}
	function = range_map_find(&objfile->flow_functions, elf_address);
	if (!function)
		return -ENOENT;
	*ret = (struct code_bounds){function->start, function->end};
	return 0;
}

static int find_candidate(struct objfile *objfile, uint64_t elf_address, struct symbol *ret)
{
	int err = objfile->symbols ? 0 : read_symbols(objfile);

	return err ? err : symbol_table_find(objfile->symbols, elf_address, ret);
}

/*
 * A signal handler returns to the start of a trampoline, which follows no call. Unwinders
 * nevertheless look up the address before it, so glibc's description of __restore_rt starts a byte
 * early.
 */
static int find_trampoline(struct objfile *objfile, uint64_t elf_address, struct symbol *ret)
{
	struct frame_info *frame_info;
	struct code_bounds bounds;
	int err = objfile_get_frame_info(objfile, &frame_info);

	if (err)
		return err;
	err = frame_info_find_bounds(frame_info, elf_address, &bounds);
	if (err)
		return err;
	if (bounds.start != elf_address || bounds.end - bounds.start < 2)
		return -ENOENT;
	err = find_candidate(objfile, elf_address + 1, ret);
	if (err)
		return err;
	if (ret->start != elf_address + 1)
		return -ENOENT;
	ret->start = elf_address;
	return 0;
}

int objfile_find_symbol(struct objfile *objfile, uint64_t elf_address, struct symbol *ret)
{
	struct code_bounds bounds;
	struct symbol symbol;
	int err = find_candidate(objfile, elf_address, &symbol);

	if (err == -ENOENT)
		err = find_trampoline(objfile, elf_address, &symbol);
	if (err)
		return err;
	if (!symbol.is_size_known) {
		err = find_bounds(objfile, &symbol, elf_address, &bounds);
		if (err)
			return err;
		if (bounds.start > symbol.start)
			return -ENOENT;
	}
	*ret = symbol;
	return 0;
}

/* The part of the gap around the address that is executable code in the file; may be empty. */
static struct code_bounds clip_to_code(const struct objfile *objfile, uint64_t elf_address,
				       struct code_bounds gap)
{
	array_for_each (&objfile->layout.segments, segment) {
		uint64_t end = segment->elf_address + segment->file_size;

		if (!segment->is_executable || elf_address < segment->elf_address ||
		    elf_address >= end)
			continue;
		if (gap.start < segment->elf_address)
			gap.start = segment->elf_address;
		if (gap.end > end)
			gap.end = end;
		if (elf_address - gap.start > FUNCTION_START_REACH)
			gap.start = elf_address - FUNCTION_START_REACH;
		if (gap.end - elf_address > FUNCTION_START_REACH)
			gap.end = elf_address + FUNCTION_START_REACH;
		return gap;
	}
	return (struct code_bounds){elf_address, elf_address};
}

/* Find the start of a function without symbol or description, by the code before it. */
static int find_start(struct objfile *objfile, uint64_t elf_address, uint64_t *ret)
{
	const struct architecture *architecture = objfile_get_architecture(objfile);
	_cleanup_free_ uint8_t *code = NULL;
	struct frame_info *frame_info;
	struct code_bounds gap;
	struct symbol symbol;
	size_t size;
	size_t start;
	int err = objfile_get_frame_info(objfile, &frame_info);

	if (err)
		return err;
	if (!architecture || !architecture->find_start ||
	    frame_info_find_bounds(frame_info, elf_address, &gap) != -ENOENT)
		return -ENOENT;
	gap = clip_to_code(objfile, elf_address, gap);
	size = gap.end - gap.start;
	if (!size)
		return -ENOENT;
	code = malloc(size);
	if (!code)
		return -ENOMEM;
	if (objfile_read_code(objfile, gap.start, code, size) ||
	    !architecture->find_start(code, size, gap.start, elf_address - gap.start, &start))
		return -ENOENT;
	/* The address would be in that function, had it not ended before. */
	err = find_candidate(objfile, gap.start + start, &symbol);
	if (err != -ENOENT)
		return err ? err : -ENOENT;
	*ret = gap.start + start;
	return 0;
}

int objfile_find_function(struct objfile *objfile, uint64_t elf_address, uint64_t *ret_start)
{
	struct code_bounds bounds;
	struct symbol symbol;
	int err = find_candidate(objfile, elf_address, &symbol);
	bool is_behind_symbol = !err;

	if (err && err != -ENOENT)
		return err;
	err = find_bounds(objfile, !err && !symbol.is_size_known ? &symbol : NULL, elf_address,
			  &bounds);
	if (err == -ENOENT && !is_behind_symbol)
		return find_start(objfile, elf_address, ret_start);
	if (err)
		return err;
	*ret_start = bounds.start;
	return 0;
}

const struct architecture *objfile_get_architecture(const struct objfile *objfile)
{
	return architecture_find(objfile->machine);
}

struct proven_calls *objfile_get_proven_calls(struct objfile *objfile)
{
	return &objfile->calls;
}

const struct architecture *objfile_get_call_architecture(const struct objfile *objfile)
{
	const struct architecture *architecture = architecture_find_of_any_size(objfile->machine);

	return architecture && architecture->read_direct_call ? architecture : NULL;
}

bool objfile_is_32_bit(const struct objfile *objfile)
{
	return !objfile_get_architecture(objfile);
}

int objfile_get_frame_info(struct objfile *objfile, struct frame_info **ret)
{
	int err = 0;

	if (!objfile->frame_info)
		err = frame_info_new(objfile->main.elf, &objfile->frame_info);
	if (err)
		return err;
	*ret = objfile->frame_info;
	return 0;
}

/*
 * libdw would open the alternate file at any path that the (untrusted) file names. We open it
 * ourselves. Without it, references into it would give wrong names, so DWARF is not used then.
 */
static int open_alternate(struct objfile *objfile)
{
	struct debug_file_query query = {
		.path = objfile->path,
		.fd = objfile->main.fd,
		.debug_root = objfile->debug_root,
		.opener = objfile->opener,
	};
	int err = objfile->debug_root ? debug_file_open_alternate(objfile->dwarf.dwarf, &query,
								  &objfile->alternate_fd)
				      : -ENOENT;

	if (err)
		return err;
	err = dwarf_source_open(objfile->alternate_fd, objfile->path, &objfile->alternate);
	if (err)
		return -EINVAL;
	dwarf_setalt(objfile->dwarf.dwarf, objfile->alternate.dwarf);
	return 0;
}

static int open_dwarf(struct objfile *objfile)
{
	int err = dwarf_source_open(objfile->main.fd, objfile->path, &objfile->dwarf);

	if (err && get_debug_elf(objfile))
		err = dwarf_source_open(objfile->debug.fd, objfile->path, &objfile->dwarf);
	return err;
}

Dwarf *objfile_get_dwarf(struct objfile *objfile)
{
	int err;

	if (objfile->was_dwarf_sought)
		return objfile->dwarf.dwarf;
	objfile->was_dwarf_sought = true;
	if (open_dwarf(objfile))
		return NULL;
	err = open_alternate(objfile);
	if (err && err != -ENODATA) {
		log_debug("%s: the file its debug information refers to is missing, skipping",
			  objfile->path);
		close_dwarf(objfile);
		objfile->was_dwarf_sought = true;
		objfile->lacks_alternate = true;
	}
	return objfile->dwarf.dwarf;
}

int objfile_drop_dwarf(struct objfile *objfile, Dwarf **ret)
{
	int err = dwarf_source_drop(&objfile->dwarf);

	if (err)
		return err;
	err = dwarf_source_drop(&objfile->alternate);
	if (err)
		return err;
	if (objfile->alternate.dwarf)
		dwarf_setalt(objfile->dwarf.dwarf, objfile->alternate.dwarf);
	*ret = objfile->dwarf.dwarf;
	return 0;
}

bool objfile_lacks_alternate(const struct objfile *objfile)
{
	return objfile->lacks_alternate;
}
