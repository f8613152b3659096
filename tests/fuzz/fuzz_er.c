/*
 * Experiments of gprofng. An input is a folder; what is none is read as a tar archive.
 */
#include "folder_input.h"
#include "import_fuzz.h"

static void ignore(void *context _unused_, const char *line)
{
	require(line[0] && !strchr(line, '\n'));
}

static int read_folder(struct folder_input *folder, bool is_strict)
{
	struct profile *profile = profile_new();
	struct import import = {
		.name = "FOLDER",
		.open_member = folder_input_open_member,
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
	struct folder_input folder = {0};
	int strict;

	if (!folder_input_open(&folder, data, size))
		return fuzz_import(&format_er, data, size);
	strict = read_folder(&folder, true);
	require(read_folder(&folder, false) == 0 || strict);
	return 0;
}
