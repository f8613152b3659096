/* Command lines: a comm and a NUL, then the words. What is found is bounded, and is found in its label. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/script_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_true)
{
	if (!is_true)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(text_release) struct text name = {0};
	_cleanup_(text_release) struct text label = {0};
	const char *comm = (const char *)data;
	size_t comm_length = strnlen(comm, size);
	const char *found;
	size_t found_comm_length;
	size_t found_length;

	if (comm_length == size)
		return 0;
	script_name_append(comm, comm + comm_length + 1, size - comm_length - 1, &name);
	if (name.failed || !name.length)
		return 0;
	check(name.length <= SCRIPT_NAME_MAX_BYTES && script_name_is_for(comm));
	check(!memchr(name.data, '\0', name.length));
	text_append_string(&label, comm);
	script_name_append_label(&label, name.data, name.length);
	if (label.failed)
		return 0;
	check(script_name_find_in_label(label.data, label.length, &found_comm_length, &found,
					&found_length));
	check(found_comm_length == comm_length && found_length == name.length &&
	      memcmp(found, name.data, name.length) == 0);
	return 0;
}
