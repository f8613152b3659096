#include "collect/stacks/call_check.h"

#include <errno.h>
#include <inttypes.h>

#include "base/intern.h"
#include "base/log.h"

/* The longest call instruction: FF /2 with SIB byte, displacement and prefixes. */
#define CALL_MAX_BYTES 9

struct call_site {
	uint64_t file_offset;
	uint32_t file;
};
INTERN_TABLE(call_sites, struct call_site, file, file_offset);

struct call_check {
	const struct file_table *files;
	struct call_sites sites;
	struct call_check_counts counts;
};

struct call_check *call_check_new(const struct file_table *files)
{
	struct call_check *check = calloc(1, sizeof(*check));

	if (check)
		check->files = files;
	return check;
}

void call_check_free(struct call_check *check)
{
	if (!check)
		return;
	call_sites_release(&check->sites);
	free(check);
}

/*
 * Length of FF /2 from its opcode on, by its ModRM and SIB bytes; 0 if it is another instruction.
 */
static size_t get_indirect_length(const uint8_t *code, size_t size)
{
	uint8_t mode = code[1] >> 6;
	uint8_t base = code[1] & 7;
	size_t length = 2;

	if (code[0] != 0xff || (code[1] >> 3 & 7) != 2)
		return 0;
	if (mode != 3 && base == 4) {
		if (size < 3)
			return 0;
		base = code[2] & 7;
		length++;
	}
	if (mode == 1)
		length += 1;
	else if (mode == 2 || (mode == 0 && base == 5))
		length += 4;
	return length;
}

bool call_check_ends_in_call(const uint8_t *bytes, size_t size)
{
	if (size >= 5 && bytes[size - 5] == 0xe8)
		return true;
	for (size_t length = 2; length <= size && length <= 7; length++)
		if (get_indirect_length(bytes + size - length, length) == length)
			return true;
	return false;
}

int call_check_add(struct call_check *check, uint32_t file, uint64_t file_offset)
{
	const struct mapped_file *mapped = file_table_get(check->files, file);
	struct call_site site = {.file = file, .file_offset = file_offset};
	uint8_t code[CALL_MAX_BYTES];
	uint32_t number;
	int err;

	if (mapped->fd < 0 || file_offset < sizeof(code) ||
	    call_sites_find(&check->sites, &site) != HASH_INDEX_NONE)
		return 0;
	err = call_sites_add(&check->sites, &site, &number);
	if (err)
		return err;
	if (pread(mapped->fd, code, sizeof(code), (off_t)(file_offset - sizeof(code))) ==
	    (ssize_t)sizeof(code)) {
		check->counts.checked++;
		if (!call_check_ends_in_call(code, sizeof(code))) {
			check->counts.failed++;
			log_debug("no call before %s, file offset 0x%" PRIx64, mapped->path,
				  file_offset);
		}
	}
	return 0;
}

struct call_check_counts call_check_get_counts(const struct call_check *check)
{
	return check->counts;
}
