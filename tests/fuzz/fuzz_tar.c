/* Tar archives: what is listed lies in the archive, and no path leads out. */
#include "formats/tar.h"
#include "import_fuzz.h"

static void check_path(const char *path)
{
	require(path[0] && path[0] != '/' && strcmp(path, "..") != 0);
	require(strncmp(path, "../", 3) != 0 && !strstr(path, "/../"));
	require(strlen(path) < 3 || strcmp(path + strlen(path) - 3, "/..") != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tar tar = {0};

	(void)tar_detect(data, size);
	require(tar_read(&tar, data, size) == 0);
	array_for_each (&tar.files, file) {
		require(file->offset <= size && file->size <= size - file->offset);
		check_path(tar_get_path(&tar, file));
	}
	tar_release(&tar);
	return 0;
}
