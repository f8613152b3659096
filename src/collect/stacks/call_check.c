#include "collect/stacks/call_check.h"

#include <errno.h>
#include <inttypes.h>

#include "base/intern.h"
#include "base/log.h"
#include "objfile/architecture.h"

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

int call_check_add(struct call_check *check, uint32_t file, uint64_t file_offset)
{
	const struct architecture *architecture = architecture_here();
	const struct mapped_file *mapped = file_table_get(check->files, file);
	struct call_site site = {.file = file, .file_offset = file_offset};
	uint8_t code[CALL_MAX_BYTES];
	uint32_t number;
	int err;

	if (!architecture->ends_in_call || mapped->fd < 0 || file_offset < sizeof(code) ||
	    call_sites_find(&check->sites, &site) != HASH_INDEX_NONE)
		return 0;
	err = call_sites_add(&check->sites, &site, &number);
	if (err)
		return err;
	if (pread(mapped->fd, code, sizeof(code), (off_t)(file_offset - sizeof(code))) ==
		    (ssize_t)sizeof(code) &&
	    mapped_file_is_unchanged(mapped)) {
		check->counts.checked++;
		if (!architecture->ends_in_call(code, sizeof(code))) {
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
