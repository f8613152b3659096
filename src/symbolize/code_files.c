#include "symbolize/code_files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/file.h"
#include "base/log.h"

/* Debug information up to this size is retained for the next profile, per file and in total. */
#define MAX_RETAINED_DEBUG_BYTES     (32ull << 20)
#define MAX_ALL_RETAINED_DEBUG_BYTES (128ull << 20)

struct code_file {
	struct objfile *objfile;
	struct inlines *inlines;
	bool were_inlines_sought;
	uint64_t retained_debug_bytes;
};

/* A file by its number in the file table. */
struct slot {
	bool was_sought;
	struct code_file *code_file; /* NULL: none. May be shared with other slots */
};

struct code_files {
	const struct file_table *files;
	char *debug_root;
	bool allows_downloads;
	const struct debug_opener *opener;
	ARRAY(struct slot) slots; /* by number in the file table */
	ARRAY(struct code_file *) opened;
	uint64_t retained_debug_bytes; /* sum of theirs */
};

static void code_file_close_inlines(struct code_file *code_file)
{
	inlines_free(code_file->inlines);
	code_file->inlines = NULL;
	code_file->were_inlines_sought = false;
}

static void code_file_free(struct code_file *code_file)
{
	code_file_close_inlines(code_file);
	objfile_unref(code_file->objfile);
	free(code_file);
}

struct code_files *code_files_new(const struct file_table *files, const char *debug_root)
{
	struct code_files *code_files = calloc(1, sizeof(*code_files));

	if (!code_files)
		return NULL;
	code_files->files = files;
	code_files->debug_root = strdup(debug_root);
	if (!code_files->debug_root) {
		code_files_free(code_files);
		return NULL;
	}
	return code_files;
}

void code_files_allow_downloads(struct code_files *code_files)
{
	code_files->allows_downloads = true;
}

void code_files_set_opener(struct code_files *code_files, const struct debug_opener *opener)
{
	code_files->opener = opener;
}

void code_files_free(struct code_files *code_files)
{
	if (!code_files)
		return;
	array_for_each (&code_files->opened, code_file)
		code_file_free(*code_file);
	array_release(&code_files->opened);
	array_release(&code_files->slots);
	free(code_files->debug_root);
	free(code_files);
}

/*
 * A build ID is only a claim: any user can link a program with the build ID of libc and other
 * names. So files are merged only if they have the same owner, too.
 */
static bool are_one(const struct mapped_file *a, const struct mapped_file *b)
{
	return a->build_id_size && a->build_id_size == b->build_id_size &&
	       memcmp(a->build_id, b->build_id, a->build_id_size) == 0 &&
	       file_owner_is_same(a->owner, b->owner);
}

/*
 * Choose the one of two files with the same code that has a symbol table; NULL loses. Takes
 * ownership of both.
 */
static struct objfile *choose(struct objfile *best, struct objfile *other)
{
	if (!best || (other && !objfile_has_symtab(best) && objfile_has_symtab(other))) {
		objfile_unref(best);
		return other;
	}
	objfile_unref(other);
	return best;
}

/* NULL if it cannot be opened. */
static struct objfile *open_file(const struct code_files *code_files,
				 const struct mapped_file *mapped)
{
	struct objfile *objfile;
	struct error error;

	if (objfile_open(mapped->fd, mapped->path, code_files->debug_root, &objfile, &error) == 0) {
		if (code_files->allows_downloads)
			objfile_allow_downloads(objfile);
		objfile_set_opener(objfile, code_files->opener);
		return objfile;
	}
	log_debug("%s, skipping", error.message);
	return NULL;
}

/* Takes ownership of objfile, also on failure. Returns NULL when out of memory. */
static struct code_file *add_opened(struct code_files *code_files, struct objfile *objfile)
{
	struct code_file *code_file = calloc(1, sizeof(*code_file));
	struct code_file **new = array_add(&code_files->opened);

	if (!code_file || !new) {
		code_files->opened.length -= new != NULL;
		objfile_unref(objfile);
		free(code_file);
		return NULL;
	}
	code_file->objfile = objfile;
	*new = code_file;
	return code_file;
}

/* Open the file, and the others of the table that are merged with it. */
static int open_slot(struct code_files *code_files, uint32_t file)
{
	const struct mapped_file *mapped = file_table_get(code_files->files, file);
	struct slot *slots = code_files->slots.items;
	struct code_file *code_file = NULL;
	struct objfile *objfile = NULL;

	if (mapped->fd < 0 || mapped->build_id_differs)
		return 0;
	for (uint32_t i = 0; i < code_files->slots.length; i++) {
		const struct mapped_file *other = file_table_get(code_files->files, i);

		if (i != file &&
		    (other->fd < 0 || other->build_id_differs || !are_one(mapped, other)))
			continue;
		if (slots[i].code_file)
			code_file = slots[i].code_file;
		else if (!code_file)
			objfile = choose(objfile, open_file(code_files, other));
	}
	if (code_file)
		objfile_unref(objfile);
	else if (objfile)
		code_file = add_opened(code_files, objfile);
	else
		return 0;
	slots[file].code_file = code_file;
	return code_file ? 0 : -ENOMEM;
}

int code_files_get(struct code_files *code_files, uint32_t file, struct code_file **ret)
{
	uint32_t num_files = file_table_get_count(code_files->files);
	struct slot *slot;
	int err;

	if (file >= num_files)
		return -ENOENT;
	while (code_files->slots.length < num_files) {
		slot = array_add(&code_files->slots);
		if (!slot)
			return -ENOMEM;
	}
	slot = &code_files->slots.items[file];
	if (!slot->was_sought) {
		err = open_slot(code_files, file);
		if (err)
			return err;
		slot->was_sought = true;
	}
	if (!slot->code_file)
		return -ENOENT;
	*ret = slot->code_file;
	return 0;
}

struct objfile *code_file_get_objfile(const struct code_file *code_file)
{
	return code_file->objfile;
}

int code_file_get_inlines(struct code_file *code_file, struct inlines **ret)
{
	Dwarf *dwarf;
	int err = 0;

	if (!code_file->were_inlines_sought) {
		dwarf = objfile_get_dwarf(code_file->objfile);
		if (dwarf)
			err = inlines_new(code_file->objfile, dwarf, &code_file->inlines);
		if (err)
			return err;
		code_file->were_inlines_sought = true;
	}
	*ret = code_file->inlines;
	return 0;
}

void code_files_trim(struct code_files *code_files, struct code_file *code_file)
{
	uint64_t size = objfile_get_dwarf_size(code_file->objfile);
	uint64_t others = code_files->retained_debug_bytes - code_file->retained_debug_bytes;

	if (size > MAX_RETAINED_DEBUG_BYTES || others + size > MAX_ALL_RETAINED_DEBUG_BYTES) {
		code_file_close_inlines(code_file);
		objfile_close_dwarf(code_file->objfile);
		size = 0;
	}
	code_file->retained_debug_bytes = size;
	code_files->retained_debug_bytes = others + size;
}
