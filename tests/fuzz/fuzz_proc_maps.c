/*
 * /proc/PID/maps: whatever the text, mappings are sane, and the list made of them stays sorted.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "process/proc_maps.h"
#include "process/process_table.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take(const struct proc_mapping *mapping, void *context)
{
	struct mapping_list *list = context;
	struct mapping new = {
		.start = mapping->start,
		.end = mapping->end,
		.file_offset = mapping->file_offset,
		.file = mapping->dev_minor,
	};
	bool is_changed;

	require(mapping->start < mapping->end);
	require(strlen(mapping->path) < sizeof(mapping->path));
	require(mapping_list_add(list, &new, &is_changed) == 0);
	require(mapping_list_find(list, new.start) != NULL);
	require(mapping_list_find(list, new.end - 1) != NULL);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mapping_list list = {0};
	struct error error = {0};
	int err = proc_maps_for_each((const char *)data, size, take, &list, &error);

	require(!err || error.message[0]);
	for (size_t i = 1; i < list.sorted.length; i++)
		require(list.sorted.items[i - 1].end <= list.sorted.items[i].start);
	mapping_list_release(&list);
	return 0;
}
