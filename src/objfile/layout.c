/* The bias of an ELF file's segments: its addresses relative to those of the process. */
#include <errno.h>
#include <unistd.h>

#include "objfile/objfile.h"

#define PAGE_BYTES 4096

/* How many bytes of a range of the file the segment has. */
static uint64_t count_shared_bytes(const struct objfile_segment *segment, uint64_t start,
				   uint64_t end)
{
	uint64_t segment_end = segment->file_offset + segment->file_size;
	uint64_t shared_start = start > segment->file_offset ? start : segment->file_offset;
	uint64_t shared_end = end < segment_end ? end : segment_end;

	return shared_start < shared_end ? shared_end - shared_start : 0;
}

/*
 * Linkers that leave no room between segments in the file (lld, mold, gold) put several into one
 * page, which is then mapped several times. The addresses do not tell which segment a mapping
 * belongs to, but code that runs is in an executable segment. If two executable segments share the
 * page, the loader has made a mapping for each, from the page where the segment starts.
 */
int objfile_layout_get_bias(const struct objfile_layout *layout,
			    const struct objfile_mapping *mapping, uint64_t *ret)
{
	const uint64_t end = mapping->file_offset + (mapping->end - mapping->start);
	const struct objfile_segment *found = NULL;
	uint64_t found_bytes = 0;
	bool found_starts = false;

	array_for_each (&layout->segments, segment) {
		uint64_t bytes = count_shared_bytes(segment, mapping->file_offset, end);
		bool starts =
			segment->file_offset / PAGE_BYTES * PAGE_BYTES == mapping->file_offset;
		bool is_better = !found || bytes > found_bytes;

		if (!bytes)
			continue;
		if (found && segment->is_executable != found->is_executable)
			is_better = segment->is_executable;
		else if (found && starts != found_starts)
			is_better = starts;
		if (!is_better)
			continue;
		found = segment;
		found_bytes = bytes;
		found_starts = starts;
	}
	if (!found)
		return -ENOENT;
	*ret = mapping->start - mapping->file_offset + found->file_offset - found->elf_address;
	return 0;
}

int objfile_layout_read_code(const struct objfile_layout *layout, int fd, uint64_t elf_address,
			     void *ret, size_t size)
{
	array_for_each (&layout->segments, segment) {
		uint64_t skipped = elf_address - segment->elf_address;

		if (!segment->is_executable || elf_address < segment->elf_address ||
		    skipped > segment->file_size || size > segment->file_size - skipped)
			continue;
		return pread(fd, ret, size, (off_t)(segment->file_offset + skipped)) ==
				       (ssize_t)size
			       ? 0
			       : -ENOENT;
	}
	return -ENOENT;
}
