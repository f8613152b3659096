#include "collect/runtimes/process_runtime.h"

#include <errno.h>

const struct runtime_build *runtime_sources_get_build(const struct runtime_sources *sources,
						      uint32_t file)
{
	return file == FILE_NONE ? NULL
				 : elf_files_get_runtime(sources->elf_files,
							 file_table_get(sources->files, file));
}

int runtime_sources_get_state(const struct runtime_sources *sources, const struct mapping *mapping,
			      uint64_t *ret)
{
	const struct objfile_mapping mapped = {mapping->start, mapping->end, mapping->file_offset};
	const struct runtime_build *build = runtime_sources_get_build(sources, mapping->file);
	const struct objfile_layout *layout;
	uint64_t bias;

	if (!build ||
	    elf_files_get_layout(sources->elf_files, file_table_get(sources->files, mapping->file),
				 &layout) ||
	    objfile_layout_get_bias(layout, &mapped, &bias))
		return -ENOENT;
	*ret = build->state + bias;
	return 0;
}

/* HotSpot describes itself in memory of the process. */
static struct process_runtime ask_hotspot(const struct runtime_sources *sources,
					  const struct process *process,
					  const struct mapping *mapping)
{
	struct process_runtime found = {.runtime = WIRE_RUNTIME_HOTSPOT};
	const struct hotspot_layout *layout;
	uint64_t bias;

	switch (hotspot_layouts_read(sources->hotspots, process, mapping, &layout, &bias)) {
	case HOTSPOT_READ:
		found.is_there = true;
		found.is_known = layout->support == SUPPORT_KNOWN;
		found.major = (uint16_t)layout->major;
		break;
	case HOTSPOT_UNREADABLE:
		found.is_there = true;
		break;
	case HOTSPOT_UNREAD:
		found.may_come = true;
		break;
	case HOTSPOT_ABSENT:
		break;
	}
	return found;
}

static struct process_runtime find_in(const struct runtime_sources *sources,
				      const struct process *process, const struct mapping *mapping)
{
	const struct runtime_build *build = runtime_sources_get_build(sources, mapping->file);

	if (!build)
		return (struct process_runtime){0};
	if (build->runtime == WIRE_RUNTIME_HOTSPOT)
		return ask_hotspot(sources, process, mapping);
	return (struct process_runtime){
		.is_there = true,
		.is_known = build->support == SUPPORT_KNOWN,
		.runtime = build->runtime,
		.major = (uint16_t)build->major,
		.minor = (uint16_t)build->minor,
	};
}

static bool precedes(const struct process_runtime *a, const struct process_runtime *b)
{
	if (!a->is_there || !b->is_there)
		return a->is_there;
	if (a->is_known != b->is_known)
		return a->is_known;
	return a->runtime < b->runtime;
}

struct process_runtime process_runtime_find(const struct runtime_sources *sources,
					    const struct process *process)
{
	struct process_runtime first = {.file = FILE_NONE};
	bool may_come = false;
	size_t count;
	const struct mapping *mappings = process_get_mappings(process, &count);

	for (size_t i = 0; i < count; i++) {
		struct process_runtime found = find_in(sources, process, &mappings[i]);

		may_come |= found.may_come;
		if (!precedes(&found, &first))
			continue;
		first = found;
		first.mapping = i;
		first.file = mappings[i].file;
	}
	first.may_come = may_come;
	return first;
}
