/* What has to be so, whatever the input is. */
#ifndef REQUIRE_H
#define REQUIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static inline void require(bool condition)
{
	if (!condition)
		abort();
}

/* A name of at most so many bytes, which is UTF-8 and has no control characters. */
static inline void require_clean(const char *name, size_t max_length)
{
	size_t length = strlen(name);
	uint32_t code_point;

	require(length <= max_length);
	for (size_t i = 0; i < length;) {
		size_t size = utf8_decode(name + i, length - i, &code_point);

		require(!utf8_is_broken(code_point, size));
		require(code_point >= 0x20 && code_point != 0x7f);
		i += size;
	}
}

#endif
