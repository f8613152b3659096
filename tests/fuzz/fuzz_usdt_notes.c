/*
 * Notes of statically defined probes: whatever the bytes, what is found lies in them, and what their arguments say is
 * in its bounds.
 */
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "objfile/usdt.h"
#include "require.h"

/* That are looked for; the last may not be there. */
#define NUM_ARGUMENTS 6

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t size;
};

static void require_inside(const struct input *input, const char *text)
{
	const uint8_t *start = (const uint8_t *)text;

	require(start >= input->data && start + strlen(text) < input->data + input->size);
}

static void read_arguments(const char *arguments, uint16_t machine)
{
	for (unsigned int number = 1; number <= NUM_ARGUMENTS; number++) {
		struct probe_argument argument;
		int err = usdt_read_argument(arguments, number, machine, &argument);

		require(!err || err == -ENOENT || err == -ENOTSUP);
		if (err)
			continue;
		require(argument.source != ARGUMENT_NONE && argument.source <= ARGUMENT_MEMORY);
		require(argument.bytes == 1 || argument.bytes == 2 || argument.bytes == 4 ||
			argument.bytes == 8);
		require(argument.base <= ARGUMENT_MAX_REGISTER);
		require(argument.index == ARGUMENT_NO_REGISTER ||
			argument.index <= ARGUMENT_MAX_REGISTER);
		require(argument.is_signed <= 1 && argument.scale <= 8);
	}
}

static int use_note(const struct usdt_note *note, void *context)
{
	require_inside(context, note->provider);
	require_inside(context, note->name);
	require_inside(context, note->arguments);
	read_arguments(note->arguments, EM_X86_64);
	read_arguments(note->arguments, EM_AARCH64);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data, size};
	int err = usdt_read_notes(data, size, use_note, &input);

	require(!err || err == -EINVAL);
	return 0;
}
