#include "symbolize/code_files.h"

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/file.h"
#include "base/log.h"

struct code_file {
	struct objfile *objfile;
	struct mapped_file
		mapped; /* in the version that is read; its path and descriptor are borrowed */
	struct inlines *inlines;
	bool were_inlines_sought;
};

/* Not compared with the others of the table yet. */
#define FIRST_UNKNOWN UINT32_MAX

struct code_files {
	const struct file_table *files;
	char *debug_root;
	bool allows_downloads;
	const struct debug_opener *opener;
	ARRAY(uint32_t) firsts; /* by file: the first one that is merged with it */
	uint32_t open_first;    /* the file that is open; or FILE_NONE */
	struct code_file *open; /* NULL: it cannot be opened */
	bool was_overwritten;   /* which is why */
};

static void code_file_free(struct code_file *code_file)
{
	if (!code_file)
		return;
	inlines_free(code_file->inlines);
	objfile_unref(code_file->objfile);
	free(code_file);
}

struct code_files *code_files_new(const struct file_table *files, const char *debug_root)
{
	struct code_files *code_files = calloc(1, sizeof(*code_files));

	if (!code_files)
		return NULL;
	code_files->files = files;
	code_files->open_first = FILE_NONE;
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
	code_files_close(code_files);
	array_release(&code_files->firsts);
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

static bool is_readable(const struct mapped_file *mapped)
{
	return mapped->fd >= 0 && !mapped->build_id_differs;
}

static int reserve_firsts(struct code_files *code_files)
{
	uint32_t num_files = file_table_get_count(code_files->files);

	while (code_files->firsts.length < num_files) {
		uint32_t *first = array_add(&code_files->firsts);

		if (!first)
			return -ENOMEM;
		*first = FIRST_UNKNOWN;
	}
	return 0;
}

int code_files_get_first(struct code_files *code_files, uint32_t file, uint32_t *ret)
{
	const struct mapped_file *mapped;
	uint32_t *first;
	int err = reserve_firsts(code_files);

	if (err)
		return err;
	*ret = file;
	if (file >= code_files->firsts.length)
		return 0;
	first = &code_files->firsts.items[file];
	mapped = file_table_get(code_files->files, file);
	for (uint32_t i = 0; i < file && *first == FIRST_UNKNOWN && is_readable(mapped); i++) {
		const struct mapped_file *other = file_table_get(code_files->files, i);

		if (is_readable(other) && are_one(mapped, other))
			*first = i;
	}
	if (*first == FIRST_UNKNOWN)
		*first = file;
	*ret = *first;
	return 0;
}

/*
 * Choose the one of two files with the same code that has a symbol table; NULL loses. Takes
 * ownership of both.
 */
static struct code_file *choose(struct code_file *best, struct code_file *other)
{
	if (!best ||
	    (other && !objfile_has_symtab(best->objfile) && objfile_has_symtab(other->objfile))) {
		code_file_free(best);
		return other;
	}
	code_file_free(other);
	return best;
}

/*
 * Whether the file that was opened has the content that was mapped. If it was written again, its
 * build ID decides.
 */
static bool has_mapped_content(const struct mapped_file *mapped, const struct code_file *opened)
{
	const uint8_t *build_id;
	uint8_t size;

	if (mapped->is_copy)
		return true;
	build_id = objfile_get_build_id(opened->objfile, &size);
	if (size && mapped->build_id_size)
		return size == mapped->build_id_size &&
		       memcmp(build_id, mapped->build_id, size) == 0;
	return mapped->is_elf && mapped_file_has_version(mapped, &opened->mapped.version);
}

/* Returns 0; -ENOENT if it cannot be opened, -ESTALE if it was overwritten, or -ENOMEM. */
static int open_file(const struct code_files *code_files, const struct mapped_file *mapped,
		     struct code_file **ret)
{
	struct code_file *opened = calloc(1, sizeof(*opened));
	struct error error;

	if (!opened)
		return -ENOMEM;
	opened->mapped = *mapped;
	if ((!mapped->is_copy && file_version_read(mapped->fd, &opened->mapped.version)) ||
	    objfile_open(mapped->fd, mapped->path, code_files->debug_root, &opened->objfile,
			 &error)) {
		log_debug("%s cannot be read, skipping", mapped->path);
		free(opened);
		return -ENOENT;
	}
	if (!has_mapped_content(mapped, opened)) {
		log_debug("%s was overwritten, skipping", mapped->path);
		code_file_free(opened);
		return -ESTALE;
	}
	if (code_files->allows_downloads)
		objfile_allow_downloads(opened->objfile);
	objfile_set_opener(opened->objfile, code_files->opener);
	*ret = opened;
	return 0;
}

/* Open the best of the files merged with a file. */
static int open_best(struct code_files *code_files, uint32_t file)
{
	const struct mapped_file *mapped = file_table_get(code_files->files, file);

	code_files->was_overwritten = false;
	for (uint32_t i = file; i < file_table_get_count(code_files->files); i++) {
		const struct mapped_file *other = file_table_get(code_files->files, i);
		struct code_file *opened;
		int err;

		if (i != file && (!is_readable(other) || !are_one(mapped, other)))
			continue;
		err = open_file(code_files, other, &opened);
		if (err == -ENOMEM)
			return err;
		code_files->was_overwritten |= err == -ESTALE;
		if (!err)
			code_files->open = choose(code_files->open, opened);
	}
	return 0;
}

int code_files_get(struct code_files *code_files, uint32_t file, struct code_file **ret)
{
	uint32_t first;
	int err = code_files_get_first(code_files, file, &first);

	if (err)
		return err;
	if (file >= code_files->firsts.length ||
	    !is_readable(file_table_get(code_files->files, file)))
		return -ENOENT;
	if (first != code_files->open_first) {
		code_files_close(code_files);
		err = open_best(code_files, first);
		if (err) {
			code_files_close(code_files);
			return err;
		}
		code_files->open_first = first;
	}
	if (!code_files->open)
		return code_files->was_overwritten ? -ESTALE : -ENOENT;
	*ret = code_files->open;
	return 0;
}

/* The other names are between the parts of debug information, which libdw takes from the heap. */
void code_files_close(struct code_files *code_files)
{
	bool had_inlines = code_files->open && code_files->open->inlines;

	code_file_free(code_files->open);
	code_files->open = NULL;
	code_files->open_first = FILE_NONE;
	if (had_inlines)
		malloc_trim(0);
}

bool code_file_is_unchanged(const struct code_file *code_file)
{
	return mapped_file_is_unchanged(&code_file->mapped);
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
