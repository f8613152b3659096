/*
 * Debug information: units, ranges, inlined calls and line tables may hold anything.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "objfile/objfile.h"
#include "require.h"
#include "symbolize/inlines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(struct inlines *inlines, uint64_t elf_address)
{
	struct source_frames frames;

	if (inlines_find(inlines, elf_address, &frames))
		return;
	require(frames.length >= 1 && frames.length <= SOURCE_FRAMES_MAX);
	for (size_t i = 0; i < frames.length; i++)
		require(frames.items[i].file || !frames.items[i].line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct objfile *objfile;
	struct inlines *inlines;
	uint64_t elf_address;
	Dwarf *dwarf;

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	if (objfile_open(fd, "/fuzz/file", NULL, &objfile, NULL) == 0) {
		dwarf = objfile_get_dwarf(objfile);
		if (dwarf) {
			require(inlines_new(objfile, dwarf, &inlines) == 0);
			for (uint64_t offset = 0; offset < size; offset += size / 64 + 1)
				if (objfile_get_elf_address(objfile, offset, &elf_address) == 0)
					look_up(inlines, elf_address);
			inlines_free(inlines);
		}
		objfile_unref(objfile);
	}
	close(fd);
	return 0;
}
