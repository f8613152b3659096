#include "collect/elf/ld_cache.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "base/text.h"
#include "objfile/architecture.h"

#define MAGIC "glibc-ld.so.cache1.1"
/* Size of the header, behind the magic and two numbers. */
#define HEADER_BYTES 48
#define ENTRY_BYTES  24

#define FLAGS_MASK 0xffff

/* "libpthread.so.0", by "libpthread.so.0", "libpthread" or "pthread" */
enum library_match library_match_name(const char *library, const char *name)
{
	size_t length = strlen(name);

	if (string_equals(library, name))
		return LIBRARY_IS_IT;
	if ((string_equals(name, "c") || string_equals(name, "libc")) &&
	    (string_starts_with(library, "ld-musl-") || string_starts_with(library, "libc.musl-")))
		return LIBRARY_HAS_NAME;
	if (strncmp(library, name, length) != 0) {
		if (!string_starts_with(library, "lib"))
			return LIBRARY_IS_OTHER;
		library += strlen("lib");
		if (strncmp(library, name, length) != 0)
			return LIBRARY_IS_OTHER;
	}
	library += length;
	return string_starts_with(library, ".so") && (library[3] == '\0' || library[3] == '.')
		       ? LIBRARY_HAS_NAME
		       : LIBRARY_IS_OTHER;
}

static const char *get_string(struct bytes cache, uint32_t offset)
{
	bytes_skip(&cache, offset);
	return bytes_string(&cache);
}

int ld_cache_find(const void *cache, size_t size, const char *name, const char **ret)
{
	/* An older format may precede it, for older programs. */
	const char *start = memmem(cache, size, MAGIC, strlen(MAGIC));
	const char *found[LIBRARY_IS_IT + 1] = {0};
	struct bytes whole;
	struct bytes entries;
	uint32_t num_libraries;

	if (!start)
		return -EINVAL;
	/* Offsets are from there on. */
	whole = entries = bytes_of(start, size - (size_t)(start - (const char *)cache));
	bytes_skip(&entries, strlen(MAGIC));
	num_libraries = bytes_u32(&entries);
	bytes_skip(&entries, HEADER_BYTES - strlen(MAGIC) - sizeof(uint32_t));
	if (entries.failed)
		return -EINVAL;
	for (uint32_t i = 0; i < num_libraries && !found[LIBRARY_IS_IT]; i++) {
		uint32_t flags = bytes_u32(&entries);
		uint32_t key = bytes_u32(&entries);
		uint32_t value = bytes_u32(&entries);
		const char *library;
		const char *path;

		bytes_skip(&entries, ENTRY_BYTES - 3 * sizeof(uint32_t));
		if (entries.failed)
			return -EINVAL;
		if ((flags & FLAGS_MASK) != architecture_here()->ld_cache_flags)
			continue;
		library = get_string(whole, key);
		path = get_string(whole, value);
		if (library && path && path[0] == '/' && !found[library_match_name(library, name)])
			found[library_match_name(library, name)] = path;
	}
	*ret = found[LIBRARY_IS_IT] ? found[LIBRARY_IS_IT] : found[LIBRARY_HAS_NAME];
	return *ret ? 0 : -ENOENT;
}
