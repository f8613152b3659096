/*
 * The same as import_fuzz.h for formats that may be folders; what is none is read as a file.
 */
#ifndef FOLDER_FUZZ_H
#define FOLDER_FUZZ_H

#include "folder_input.h"
#include "import_fuzz.h"

static inline int fuzz_read_folder(const struct format *format, struct folder_input *folder,
				   bool is_strict)
{
	struct profile *profile = profile_new();
	struct import import = {
		.name = "FOLDER",
		.open_member = folder_input_open_member,
		.members = folder->names,
		.num_members = folder->length,
		.profile = profile,
		.is_strict = is_strict,
		.warn = fuzz_warn,
		.context = folder,
	};
	int err;

	require(profile && profile_add_source(profile, STRING_EMPTY, &import.source) == 0);
	err = format->read(&import);
	require(!err || err == -EBADMSG || err == -EOVERFLOW);
	require(!err == !import.error.message[0]);
	if (!err)
		fuzz_write(&format_folded, profile);
	profile_free(profile);
	return err;
}

static inline int fuzz_folder(const struct format *format, const uint8_t *data, size_t size)
{
	struct folder_input folder = {0};
	int strict;

	if (!folder_input_open(&folder, data, size))
		return fuzz_import(format, data, size);
	strict = fuzz_read_folder(format, &folder, true);
	require(fuzz_read_folder(format, &folder, false) == 0 || strict);
	return 0;
}

#endif
