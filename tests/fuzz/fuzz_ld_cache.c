/* /etc/ld.so.cache: whatever the bytes, the path that is found lies in them. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "collect/elf/ld_cache.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"libc", "libc.so.6", "c", ""};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *path;
		int err = ld_cache_find(data, size, names[i], &path);

		require(!err || err == -ENOENT || err == -EINVAL);
		if (!err)
			require((const uint8_t *)path >= data &&
				(const uint8_t *)path + strlen(path) < data + size &&
				path[0] == '/');
	}
	return 0;
}
