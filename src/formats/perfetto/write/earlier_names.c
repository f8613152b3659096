#include "formats/perfetto/write/earlier_names.h"

#include <errno.h>
#include <stdlib.h>

#include "base/utf8.h"

/* Counting sort by thread; those of a thread stay in the order of time. */
int perfetto_earlier_names_init(struct perfetto_earlier_names *names,
				const struct timeline *timeline)
{
	uint32_t num_threads = timeline_count_thread(timeline);
	uint32_t count = timeline_count_thread_name(timeline);

	*names = (struct perfetto_earlier_names){.timeline = timeline};
	if (!count)
		return 0;
	names->starts = calloc(num_threads + 2ull, sizeof(*names->starts));
	names->items = calloc(count, sizeof(*names->items));
	if (!names->starts || !names->items)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		names->starts[timeline_get_thread_name(timeline, i)->thread + 2]++;
	for (uint32_t i = 0; i < num_threads; i++)
		names->starts[i + 2] += names->starts[i + 1];
	for (uint32_t i = 0; i < count; i++)
		names->items[names->starts[timeline_get_thread_name(timeline, i)->thread + 1]++] =
			i;
	return 0;
}

void perfetto_earlier_names_release(struct perfetto_earlier_names *names)
{
	free(names->starts);
	free(names->items);
	array_release(&names->messages);
	array_release(&names->pointers);
	array_release(&names->offsets);
	text_release(&names->names);
}

/* Its name has a place in the text of all, which may still move. */
static int add_name(struct perfetto_earlier_names *names, const struct thread_name *name)
{
	const struct string_table *strings = timeline_get_strings(names->timeline);
	Perfetto__EarlierName *message = array_add(&names->messages);
	size_t *offset = array_add(&names->offsets);

	if (!message || !offset || !array_add(&names->pointers))
		return -ENOMEM;
	*offset = names->names.length;
	perfetto__earlier_name__init(message);
	message->has_until_ns = 1;
	message->until_ns = name->until_ns;
	utf8_append_name(&names->names, string_table_get(strings, name->name),
			 string_table_get_length(strings, name->name));
	text_append_char(&names->names, '\0');
	return names->names.failed ? -ENOMEM : 0;
}

int perfetto_earlier_names_fill(struct perfetto_earlier_names *names, uint32_t thread,
				Perfetto__ThreadDescriptor *descriptor)
{
	if (!names->starts)
		return 0;
	names->messages.length = names->pointers.length = names->offsets.length = 0;
	text_truncate(&names->names, 0);
	for (uint32_t i = names->starts[thread]; i < names->starts[thread + 1]; i++) {
		int err =
			add_name(names, timeline_get_thread_name(names->timeline, names->items[i]));

		if (err)
			return err;
	}
	for (size_t i = 0; i < names->messages.length; i++) {
		names->messages.items[i].name = names->names.data + names->offsets.items[i];
		names->pointers.items[i] = &names->messages.items[i];
	}
	descriptor->n_earlier_names = names->pointers.length;
	descriptor->earlier_names = names->pointers.items;
	return 0;
}
