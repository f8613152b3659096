/*
 * What a function prints meanwhile: to standard error, or to standard output. Assert only after the end: what cmocka
 * reports goes there, too.
 */
#ifndef CAUGHT_OUTPUT_H
#define CAUGHT_OUTPUT_H

#include <stdio.h>
#include <unistd.h>

/* clang-format off */
#include "unit.h"
/* clang-format on */

struct caught_output {
	int fd;
	int saved;
	FILE *file;
};

static inline struct caught_output caught_output_start(int fd)
{
	struct caught_output caught = {.fd = fd, .saved = dup(fd), .file = tmpfile()};

	assert_non_null(caught.file);
	fflush(NULL);
	dup2(fileno(caught.file), fd);
	return caught;
}

/* ret has `size` bytes. */
static inline void caught_output_end(struct caught_output *caught, char *ret, size_t size)
{
	ssize_t length;

	fflush(NULL);
	dup2(caught->saved, caught->fd);
	close(caught->saved);
	length = pread(fileno(caught->file), ret, size - 1, 0);
	ret[length < 0 ? 0 : length] = '\0';
	fclose(caught->file);
}

#endif
