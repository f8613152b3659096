/*
 * A folder as one input: its files follow each other, each after a line "FILE: PATH".
 */
#ifndef FOLDER_INPUT_H
#define FOLDER_INPUT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define FOLDER_MARK      "\nFILE: "
#define MAX_FOLDER_FILES 32

struct folder_input {
	char paths[MAX_FOLDER_FILES][64];
	const char *names[MAX_FOLDER_FILES];
	const uint8_t *data[MAX_FOLDER_FILES];
	size_t sizes[MAX_FOLDER_FILES];
	size_t length;
};

static inline const uint8_t *folder_find_mark(const uint8_t *data, const uint8_t *end)
{
	return memmem(data, (size_t)(end - data), FOLDER_MARK, strlen(FOLDER_MARK));
}

/* Take the files apart; false when the data does not start with one. */
static inline bool folder_input_open(struct folder_input *folder, const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size;
	const uint8_t *mark = size ? folder_find_mark(data, end) : NULL;

	if (!mark || mark != data)
		return false;
	while (mark && folder->length < MAX_FOLDER_FILES) {
		const uint8_t *path = mark + strlen(FOLDER_MARK);
		const uint8_t *line = memchr(path, '\n', (size_t)(end - path));
		size_t i = folder->length++;

		if (!line)
			line = end;
		snprintf(folder->paths[i], sizeof(folder->paths[i]), "%.*s", (int)(line - path),
			 (const char *)path);
		folder->names[i] = folder->paths[i];
		folder->data[i] = line < end ? line + 1 : end;
		mark = folder_find_mark(folder->data[i], end);
		folder->sizes[i] = (size_t)((mark ? mark : end) - folder->data[i]);
	}
	return true;
}

static inline int folder_input_open_member(void *context, const char *path,
					   const uint8_t **ret_data, size_t *ret_size)
{
	const struct folder_input *folder = context;

	for (size_t i = 0; i < folder->length; i++) {
		if (strcmp(folder->names[i], path) != 0)
			continue;
		*ret_data = folder->data[i];
		*ret_size = folder->sizes[i];
		return 0;
	}
	return -ENOENT;
}

#endif
