#include "process/replaced_text.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

#include "process/process_memory.h"

#define PAGE_BYTES 4096
/* Pages compared in a large copy: 256 KiB. */
#define MAX_PAGES 64
/*
 * Maximum difference, in pages, of the offsets of adjacent segments: each segment of lld's files
 * adds one.
 */
#define MAX_SHIFT 4

bool replaced_text_may_be_in(const struct file_table *files, uint32_t file)
{
	char magic[SELFMAG];
	int fd;

	if (file == FILE_NONE)
		return true;
	fd = file_table_get(files, file)->fd;
	return fd >= 0 && pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       memcmp(magic, ELFMAG, SELFMAG) != 0;
}

static bool read_page(const struct file_table *files, pid_t pid, uint64_t address, uint8_t *ret)
{
	struct process_memory memory = {.opener = file_table_get_opener(files), .pid = pid};

	return !process_memory_read(&memory, address, ret, PAGE_BYTES);
}

/* Memory behind the end of the file is zero in its last page. */
static bool is_page_of_file(const struct mapped_file *file, uint64_t offset, const uint8_t *page)
{
	uint8_t bytes[PAGE_BYTES] = {0};

	return offset <= INT64_MAX && pread(file->fd, bytes, sizeof(bytes), (off_t)offset) > 0 &&
	       memcmp(bytes, page, sizeof(bytes)) == 0;
}

/* A page of one repeated byte proves nothing. */
static bool is_of_one_byte(const uint8_t *page)
{
	return memcmp(page, page + 1, PAGE_BYTES - 1) == 0;
}

static bool may_look(const struct file_table *files, const struct mapping *mapping, uint32_t *looks)
{
	return mapping->file != FILE_NONE && file_table_get(files, mapping->file)->fd >= 0 &&
	       mapping->end - mapping->start >= PAGE_BYTES && (*looks)++ < REPLACED_TEXT_MAX_LOOKS;
}

static bool is_copy(const struct file_table *files, pid_t pid, const struct mapping *mapping)
{
	const struct mapped_file *file = file_table_get(files, mapping->file);
	uint64_t num_pages = (mapping->end - mapping->start) / PAGE_BYTES;
	uint64_t num_compared = num_pages < MAX_PAGES ? num_pages : MAX_PAGES;
	bool is_told_apart = false;

	for (uint64_t i = 0; i < num_compared; i++) {
		uint64_t number = num_compared > 1 ? i * (num_pages - 1) / (num_compared - 1) : 0;
		uint8_t page[PAGE_BYTES];

		if (!read_page(files, pid, mapping->start + number * PAGE_BYTES, page) ||
		    !is_page_of_file(file, mapping->file_offset + number * PAGE_BYTES, page))
			return false;
		is_told_apart |= !is_of_one_byte(page);
	}
	return is_told_apart;
}

bool replaced_text_is_copy(const struct file_table *files, pid_t pid, const struct mapping *mapping,
			   uint32_t *looks)
{
	return may_look(files, mapping, looks) && is_copy(files, pid, mapping);
}

bool replaced_text_find(const struct file_table *files, pid_t pid, const struct mapping *beside,
			struct mapping *mapping, uint32_t *looks)
{
	uint64_t offset = beside->file_offset + (mapping->start - beside->start);
	struct mapping found = *mapping;
	uint8_t page[PAGE_BYTES];

	found.file = beside->file;
	if (!may_look(files, &found, looks) || !read_page(files, pid, mapping->start, page) ||
	    is_of_one_byte(page))
		return false;
	for (uint64_t i = 0; i <= 2 * MAX_SHIFT; i++) {
		/* 0, then +1, -1, +2, -2, … */
		uint64_t shift = (i + 1) / 2 * PAGE_BYTES;

		found.file_offset = i & 1 ? offset + shift : offset - shift;
		if (!is_page_of_file(file_table_get(files, found.file), found.file_offset, page) ||
		    !is_copy(files, pid, &found))
			continue;
		*mapping = found;
		return true;
	}
	return false;
}
