/*
 * Tar archives for tests, in memory.
 */
#ifndef TAR_WRITER_H
#define TAR_WRITER_H

#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define TAR_BLOCK 512

/* A header and the content, padded. size  what the header says, as it stands there */
static inline void tar_put_raw(struct text *tar, const char *name, char type, const char *size,
			       const void *content, size_t length)
{
	static const char zeros[TAR_BLOCK];
	char header[TAR_BLOCK] = {0};
	unsigned int sum = 0;

	snprintf(header, 100, "%s", name);
	snprintf(header + 100, 8, "%07o", 0644);
	memcpy(header + 124, size, 12);
	memset(header + 148, ' ', 8);
	header[156] = type;
	memcpy(header + 257, "ustar\0", 6);
	for (size_t i = 0; i < TAR_BLOCK; i++)
		sum += (unsigned char)header[i];
	snprintf(header + 148, 8, "%06o", sum);
	text_append(tar, header, TAR_BLOCK);
	text_append(tar, content, length);
	text_append(tar, zeros, (TAR_BLOCK - length % TAR_BLOCK) % TAR_BLOCK);
}

static inline void tar_put(struct text *tar, const char *name, char type, const void *content,
			   size_t length)
{
	char size[13];

	snprintf(size, sizeof(size), "%011zo", length);
	tar_put_raw(tar, name, type, size, content, length);
}

static inline void tar_put_file(struct text *tar, const char *name, const char *content)
{
	tar_put(tar, name, '0', content, strlen(content));
}

static inline void tar_finish(struct text *tar)
{
	static const char zeros[2 * TAR_BLOCK];

	text_append(tar, zeros, sizeof(zeros));
}

#endif
