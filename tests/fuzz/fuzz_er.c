/*
 * Experiments of gprofng. An input is a folder: its files follow each other, each after a line
 * "FILE: PATH". What is no such folder is read as a tar archive.
 */
#include <stdio.h>

#include "import_fuzz.h"

#define MARK      "\nFILE: "
#define MAX_FILES 32

struct folder {
	char paths[MAX_FILES][64];
	const char *names[MAX_FILES];
	const uint8_t *data[MAX_FILES];
	size_t sizes[MAX_FILES];
	size_t length;
};

static const uint8_t *find_mark(const uint8_t *data, const uint8_t *end)
{
	return memmem(data, (size_t)(end - data), MARK, strlen(MARK));
}

/* Take the files apart; false when the data does not begin with one. */
static bool open_folder(struct folder *folder, const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size;
	const uint8_t *mark = size ? find_mark(data, end) : NULL;

	if (!mark || mark != data)
		return false;
	while (mark && folder->length < MAX_FILES) {
		const uint8_t *path = mark + strlen(MARK);
		const uint8_t *line = memchr(path, '\n', (size_t)(end - path));
		size_t i = folder->length++;

		if (!line)
			line = end;
		snprintf(folder->paths[i], sizeof(folder->paths[i]), "%.*s", (int)(line - path),
			 (const char *)path);
		folder->names[i] = folder->paths[i];
		folder->data[i] = line < end ? line + 1 : end;
		mark = find_mark(folder->data[i], end);
		folder->sizes[i] = (size_t)((mark ? mark : end) - folder->data[i]);
	}
	return true;
}

static int open_member(void *context, const char *path, const uint8_t **ret_data, size_t *ret_size)
{
	const struct folder *folder = context;

	for (size_t i = 0; i < folder->length; i++) {
		if (strcmp(folder->names[i], path) != 0)
			continue;
		*ret_data = folder->data[i];
		*ret_size = folder->sizes[i];
		return 0;
	}
	return -ENOENT;
}

static void ignore(void *context _unused_, const char *line)
{
	require(line[0] && !strchr(line, '\n'));
}

static int read_folder(struct folder *folder, bool is_strict)
{
	struct profile *profile = profile_new();
	struct import import = {
		.name = "FOLDER",
		.open_member = open_member,
		.members = folder->names,
		.num_members = folder->length,
		.profile = profile,
		.is_strict = is_strict,
		.warn = ignore,
		.context = folder,
	};
	int err;

	require(profile && profile_add_source(profile, STRING_EMPTY, &import.source) == 0);
	err = format_er.read(&import);
	require(!err || err == -EBADMSG || err == -EOVERFLOW);
	require(!err == !import.error.message[0]);
	if (!err)
		fuzz_write(&format_folded, profile);
	profile_free(profile);
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct folder folder = {0};
	int strict;

	if (!open_folder(&folder, data, size))
		return fuzz_import(&format_er, data, size);
	strict = read_folder(&folder, true);
	require(read_folder(&folder, false) == 0 || strict);
	return 0;
}
