#include "collect/ld_cache.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "base/text.h"

#define MAGIC "glibc-ld.so.cache1.1"
/* Of the header, behind the magic and two numbers. */
#define HEADER_BYTES 48
#define ENTRY_BYTES  24

/* Of an entry's flags: which dynamic linker it is for. */
#if defined(__x86_64__)
#define FLAGS_OF_THIS_MACHINE 0x0303 /* FLAG_X8664_LIB64 | FLAG_ELF_LIBC6 */
#elif defined(__aarch64__)
#define FLAGS_OF_THIS_MACHINE 0x0a03 /* FLAG_AARCH64_LIB64 | FLAG_ELF_LIBC6 */
#endif
#define FLAGS_MASK 0xffff

enum match { MATCH_NONE, MATCH_PREFIX, MATCH_WHOLE, NUM_MATCHES };

/* "libpthread.so.0", by "libpthread.so.0", "libpthread" or "pthread" */
static enum match match(const char *library, const char *name)
{
	size_t length = strlen(name);

	if (string_equals(library, name))
		return MATCH_WHOLE;
	if (strncmp(library, name, length) != 0) {
		if (!string_starts_with(library, "lib"))
			return MATCH_NONE;
		library += strlen("lib");
		if (strncmp(library, name, length) != 0)
			return MATCH_NONE;
	}
	library += length;
	return string_starts_with(library, ".so") && (library[3] == '\0' || library[3] == '.')
		       ? MATCH_PREFIX
		       : MATCH_NONE;
}

static const char *get_string(struct bytes cache, uint32_t offset)
{
	bytes_skip(&cache, offset);
	return bytes_string(&cache);
}

int ld_cache_find(const void *cache, size_t size, const char *name, const char **ret)
{
	/* An older format may come before it, for older programs. */
	const char *begin = memmem(cache, size, MAGIC, strlen(MAGIC));
	const char *found[NUM_MATCHES] = {0};
	struct bytes whole;
	struct bytes entries;
	uint32_t num_libraries;

	if (!begin)
		return -EINVAL;
	/* Offsets are from there on. */
	whole = entries = bytes_of(begin, size - (size_t)(begin - (const char *)cache));
	bytes_skip(&entries, strlen(MAGIC));
	num_libraries = bytes_u32(&entries);
	bytes_skip(&entries, HEADER_BYTES - strlen(MAGIC) - sizeof(uint32_t));
	if (entries.failed)
		return -EINVAL;
	for (uint32_t i = 0; i < num_libraries && !found[MATCH_WHOLE]; i++) {
		uint32_t flags = bytes_u32(&entries);
		uint32_t key = bytes_u32(&entries);
		uint32_t value = bytes_u32(&entries);
		const char *library;
		const char *path;

		bytes_skip(&entries, ENTRY_BYTES - 3 * sizeof(uint32_t));
		if (entries.failed)
			return -EINVAL;
		if ((flags & FLAGS_MASK) != FLAGS_OF_THIS_MACHINE)
			continue;
		library = get_string(whole, key);
		path = get_string(whole, value);
		if (library && path && path[0] == '/' && !found[match(library, name)])
			found[match(library, name)] = path;
	}
	*ret = found[MATCH_WHOLE] ? found[MATCH_WHOLE] : found[MATCH_PREFIX];
	return *ret ? 0 : -ENOENT;
}
