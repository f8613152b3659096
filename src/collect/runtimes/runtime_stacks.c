#include "collect/runtimes/runtime_stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/intern.h"
#include "base/log.h"
#include "collect/runtimes/hotspot_stacks.h"
#include "collect/runtimes/python_stacks.h"
#include "collect/runtimes/script_stacks.h"
#include "collect/runtimes/v8_stacks.h"

struct known_frames {
	uint64_t hash;
	uint32_t first; /* in the array of frames */
	uint16_t num_frames;
	uint8_t end;     /* enum wire_runtime_end */
	uint8_t runtime; /* enum wire_runtime */
};
INTERN_TABLE(known_frames_table, struct known_frames, hash);

/* The interpreter that a process has mapped, while its mappings are these. */
struct mapped_runtime {
	uint32_t process;
	uint32_t mappings_version;
	struct runtime_version version;
	uint32_t file;      /* it is in */
	uint64_t gil_start; /* of the memory that CPython's lock lies in */
	uint64_t gil_end;
	struct v8_build v8; /* without V8 all 0 */
};
INTERN_TABLE(mapped_runtime_table, struct mapped_runtime, process, mappings_version);

struct runtime_stacks {
	const struct file_table *files;
	const struct elf_files *elf_files;
	struct hotspot_layouts *hotspots;
	struct known_frames_table known;
	ARRAY(struct wire_runtime_frame) frames;
	struct python_stacks *python;
	struct v8_stacks *v8;
	struct hotspot_stacks *hotspot;
	struct script_stacks *script;
	struct mapped_runtime_table images;
	ARRAY(struct runtime_counts) counts;
	ARRAY(bool) is_counted; /* by process: it is among these */
	uint64_t num_lost_codes;
};

struct runtime_stacks *runtime_stacks_new(struct profile *profile, const struct file_table *files,
					  const struct elf_files *elf_files,
					  struct hotspot_layouts *hotspots,
					  enum runtime_frames frames)
{
	struct runtime_stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return NULL;
	stacks->files = files;
	stacks->elf_files = elf_files;
	stacks->hotspots = hotspots;
	stacks->python = python_stacks_new(profile, files, elf_files, frames);
	stacks->v8 = v8_stacks_new(profile, file_table_get_opener(files), frames);
	stacks->hotspot = hotspot_stacks_new(profile, hotspots, frames);
	stacks->script = script_stacks_new(profile, files, elf_files, frames);
	if (!stacks->python || !stacks->v8 || !stacks->hotspot || !stacks->script) {
		runtime_stacks_free(stacks);
		return NULL;
	}
	return stacks;
}

void runtime_stacks_forget(struct runtime_stacks *stacks)
{
	python_stacks_free(stacks->python);
	stacks->python = NULL;
	if (stacks->v8)
		stacks->num_lost_codes += v8_stacks_get_lost(stacks->v8);
	v8_stacks_free(stacks->v8);
	stacks->v8 = NULL;
	if (stacks->hotspot)
		stacks->num_lost_codes += hotspot_stacks_get_dropped(stacks->hotspot);
	hotspot_stacks_free(stacks->hotspot);
	stacks->hotspot = NULL;
	script_stacks_free(stacks->script);
	stacks->script = NULL;
	known_frames_table_release(&stacks->known);
	array_release(&stacks->frames);
}

void runtime_stacks_free(struct runtime_stacks *stacks)
{
	if (!stacks)
		return;
	runtime_stacks_forget(stacks);
	mapped_runtime_table_release(&stacks->images);
	array_release(&stacks->counts);
	array_release(&stacks->is_counted);
	free(stacks);
}

static int add_frames(struct runtime_stacks *stacks, const struct wire_runtime_stack *record,
		      size_t size)
{
	size_t header = offsetof(struct wire_runtime_stack, frames);
	struct known_frames known = {.first = (uint32_t)stacks->frames.length};
	uint32_t item;

	if (size < header || record->num_frames > WIRE_MAX_RUNTIME_FRAMES ||
	    record->num_frames > (size - header) / sizeof(record->frames[0]))
		return 0;
	known.hash = record->hash;
	if (known_frames_table_find(&stacks->known, &known) != HASH_INDEX_NONE)
		return 0;
	known.num_frames = record->num_frames;
	known.end = record->end;
	known.runtime = record->runtime;
	if (array_reserve(&stacks->frames, stacks->frames.length + record->num_frames))
		return -ENOMEM;
	if (record->num_frames)
		memcpy(stacks->frames.items + stacks->frames.length, record->frames,
		       record->num_frames * sizeof(record->frames[0]));
	stacks->frames.length += record->num_frames;
	return known_frames_table_add(&stacks->known, &known, &item);
}

int runtime_stacks_add(struct runtime_stacks *stacks, const void *data, size_t size)
{
	const wire_u32 *type = data;
	int err = 0;

	if (size >= sizeof(*type) && *type == WIRE_RUNTIME_STACK)
		return add_frames(stacks, data, size);
	if (size >= sizeof(struct wire_python_code) && *type == WIRE_PYTHON_CODE)
		err = python_stacks_add_code(stacks->python, data);
	else if (size >= sizeof(struct wire_v8_function) && *type == WIRE_V8_FUNCTION)
		err = v8_stacks_add_function(stacks->v8, data);
	else if (size >= sizeof(struct wire_hotspot_method) && *type == WIRE_HOTSPOT_METHOD)
		err = hotspot_stacks_add_method(stacks->hotspot, data);
	else if (size >= sizeof(struct wire_script_function) && *type == WIRE_SCRIPT_FUNCTION)
		err = script_stacks_add_function(stacks->script, data);
	if (!err || err == -ENOMEM)
		return err;
	/* What is not kept has no name. */
	stacks->num_lost_codes++;
	return 0;
}

uint64_t runtime_stacks_get_lost_codes(const struct runtime_stacks *stacks)
{
	return stacks->num_lost_codes +
	       (stacks->hotspot ? hotspot_stacks_get_dropped(stacks->hotspot) : 0) +
	       (stacks->v8 ? v8_stacks_get_lost(stacks->v8) : 0);
}

static enum runtime_kind get_script_kind(const struct script_build *build)
{
	if (build->runtime == WIRE_RUNTIME_RUBY)
		return RUNTIME_RUBY;
	return build->runtime == WIRE_RUNTIME_PERL ? RUNTIME_PERL : RUNTIME_PHP;
}

/* What a mapped file has in it. A process of several interpreters is one of the first that is asked for here. */
static struct runtime_version find_version(const struct runtime_stacks *stacks,
					   const struct process *process,
					   const struct mapping *mapping)
{
	const struct hotspot_layout *hotspot;
	uint64_t bias;
	const struct mapped_file *file;
	const struct python_build *python;
	const struct v8_build *v8;
	uint32_t named;
	const struct script_build *script;

	if (mapping->file == FILE_NONE)
		return (struct runtime_version){0};
	switch (hotspot_layouts_read(stacks->hotspots, process, mapping, &hotspot, &bias)) {
	case HOTSPOT_READ:
		return (struct runtime_version){.is_there = true,
						.is_known = hotspot->support == HOTSPOT_KNOWN,
						.kind = RUNTIME_HOTSPOT,
						.major = (uint16_t)hotspot->major};
	case HOTSPOT_UNREADABLE:
		return (struct runtime_version){.is_there = true, .kind = RUNTIME_HOTSPOT};
	case HOTSPOT_UNREAD:
		return (struct runtime_version){.kind = RUNTIME_HOTSPOT};
	case HOTSPOT_ABSENT:
		break;
	}
	file = file_table_get(stacks->files, mapping->file);
	python = elf_files_get_python(stacks->elf_files, file);
	if (python)
		return (struct runtime_version){.is_there = true,
						.is_known = python->support == PYTHON_KNOWN,
						.kind = RUNTIME_PYTHON,
						.major = (uint16_t)python->major,
						.minor = (uint16_t)python->minor};
	v8 = elf_files_get_v8(stacks->elf_files, file);
	if (v8)
		return (struct runtime_version){.is_there = true,
						.is_known = v8->support == V8_KNOWN,
						.kind = RUNTIME_V8,
						.major = (uint16_t)v8->major,
						.minor = (uint16_t)v8->minor};
	if (!elf_files_find_named_runtime(stacks->elf_files, file, &named))
		return (struct runtime_version){.is_there = true, .kind = RUNTIME_NAMED + named};
	script = elf_files_get_script(stacks->elf_files, file);
	if (script)
		return (struct runtime_version){.is_there = true,
						.is_known = script->support == SCRIPT_KNOWN,
						.kind = get_script_kind(script),
						.major = (uint16_t)script->major,
						.minor = (uint16_t)script->minor};
	return (struct runtime_version){0};
}

/* Where the lock of the CPython in a mapping lies, if that is known and has one. */
static void find_gil(const struct runtime_stacks *stacks, const struct mapping *mapping,
		     struct mapped_runtime *image)
{
	const struct objfile_mapping mapped = {mapping->start, mapping->end, mapping->file_offset};
	const struct mapped_file *file = file_table_get(stacks->files, mapping->file);
	const struct python_build *python = elf_files_get_python(stacks->elf_files, file);
	const struct objfile_layout *layout;
	uint64_t bias;

	if (!python || python->support != PYTHON_KNOWN ||
	    elf_files_get_layout(stacks->elf_files, file, &layout) ||
	    objfile_layout_get_bias(layout, &mapped, &bias))
		return;
	image->gil_start = python->runtime + bias;
	image->gil_end = image->gil_start + python->runtime_bytes;
}

static void find_v8(const struct runtime_stacks *stacks, const struct mapping *mapping,
		    struct mapped_runtime *image)
{
	const struct v8_build *v8 =
		elf_files_get_v8(stacks->elf_files, file_table_get(stacks->files, mapping->file));

	if (v8)
		image->v8 = *v8;
}

static struct mapped_runtime find_image(struct runtime_stacks *stacks,
					const struct process *process)
{
	struct mapped_runtime image = {.process = process->id,
				       .mappings_version = process->mappings_version};
	uint32_t item = mapped_runtime_table_find(&stacks->images, &image);
	const struct mapping *mappings;
	bool may_come = false; /* it says nothing of itself yet */
	size_t count;

	if (item != HASH_INDEX_NONE)
		return stacks->images.items[item];
	mappings = process_get_mappings(process, &count);
	/* As the sampling program has it, CPython comes first. */
	for (size_t i = 0; i < count; i++) {
		struct runtime_version version = find_version(stacks, process, &mappings[i]);

		may_come |= !version.is_there && version.kind == RUNTIME_HOTSPOT;
		if (version.is_there &&
		    (!image.version.is_there || version.kind < image.version.kind)) {
			image.version = version;
			image.file = mappings[i].file;
		}
		if (version.is_known && version.kind == RUNTIME_PYTHON && !image.gil_start)
			find_gil(stacks, &mappings[i], &image);
		if (version.is_known && version.kind == RUNTIME_V8 && !image.v8.major)
			find_v8(stacks, &mappings[i], &image);
	}
	if (may_come)
		return image;
	if (mapped_runtime_table_add(&stacks->images, &image, &item))
		log_debug("out of memory: it will be looked for again");
	return image;
}

struct runtime_version runtime_stacks_get_version(struct runtime_stacks *stacks,
						  const struct process *process)
{
	return find_image(stacks, process).version;
}

bool runtime_stacks_is_gil(struct runtime_stacks *stacks, const struct process *process,
			   uint64_t futex)
{
	struct mapped_runtime image = find_image(stacks, process);

	return futex >= image.gil_start && futex < image.gil_end;
}

/* Whether a process is counted for the first time. What there is no memory for is not counted. */
static bool is_new(struct runtime_stacks *stacks, const struct process *process)
{
	while (stacks->is_counted.length <= process->id)
		if (!array_add(&stacks->is_counted))
			return false;
	if (stacks->is_counted.items[process->id])
		return false;
	stacks->is_counted.items[process->id] = true;
	return true;
}

/* The counts of a version; those that are one too many have none of their own, and are of version 0.0. */
static struct runtime_counts *find_counts(struct runtime_stacks *stacks,
					  const struct runtime_version *version)
{
	struct runtime_counts wanted = {
		.kind = version->kind, .major = version->major, .minor = version->minor};
	struct runtime_counts *added;

	if (stacks->counts.length >= RECORDER_MAX_RUNTIMES - NUM_RUNTIME_KINDS)
		wanted.major = wanted.minor = 0;
	array_for_each (&stacks->counts, counts)
		if (counts->kind == version->kind && counts->major == version->major &&
		    counts->minor == version->minor)
			return counts;
	array_for_each (&stacks->counts, counts)
		if (counts->kind == wanted.kind && counts->major == wanted.major &&
		    counts->minor == wanted.minor)
			return counts;
	added = array_add(&stacks->counts);
	if (added)
		*added = wanted;
	return added;
}

/* Whether a stack has a frame in the interpreter's own file. */
static bool runs_in_file(const struct mapped_runtime *image, const struct process *process,
			 const uint64_t *pcs, uint32_t num_pcs)
{
	for (uint32_t i = 0; i < num_pcs; i++) {
		bool is_exact = !i || (pcs[i] & WIRE_PC_EXACT);
		const struct mapping *mapping =
			process_find_mapping(process, (pcs[i] & ~WIRE_PC_MARKS) - !is_exact);

		if (mapping && mapping->file == image->file)
			return true;
	}
	return false;
}

bool runtime_stacks_counts_by_file(struct runtime_stacks *stacks, const struct process *process)
{
	struct runtime_version version = runtime_stacks_get_version(stacks, process);
	const struct named_runtime *named =
		version.is_there ? runtime_kind_get_named(version.kind) : NULL;

	return named && named->is_library;
}

void runtime_stacks_count(struct runtime_stacks *stacks, const struct process *process,
			  struct runtime_verdict verdict, const uint64_t *pcs, uint32_t num_pcs)
{
	struct mapped_runtime image = find_image(stacks, process);
	struct runtime_version version = image.version;
	const struct named_runtime *named =
		version.is_there ? runtime_kind_get_named(version.kind) : NULL;
	enum runtime_fit fit = verdict.fit;
	struct runtime_counts *counts;

	if (!version.is_there ||
	    (named && named->is_library && !runs_in_file(&image, process, pcs, num_pcs)))
		return;
	if (!version.is_known)
		fit = RUNTIME_UNKNOWN;
	else if (fit == RUNTIME_NONE)
		fit = RUNTIME_EARLY;
	counts = find_counts(stacks, &version);
	if (!counts)
		return;
	counts->processes += is_new(stacks, process);
	counts->samples++;
	counts->fits[fit]++;
	counts->may_lack_inlined += fit == RUNTIME_FITS && verdict.may_lack_inlined;
}

const struct runtime_counts *runtime_stacks_get_counts(const struct runtime_stacks *stacks,
						       size_t *ret_count)
{
	*ret_count = stacks->counts.length;
	return stacks->counts.items;
}

static const struct known_frames *find_known(const struct runtime_stacks *stacks, uint64_t hash)
{
	uint32_t item =
		known_frames_table_find(&stacks->known, &(struct known_frames){.hash = hash});

	return item == HASH_INDEX_NONE ? NULL : &stacks->known.items[item];
}

bool runtime_stacks_is_deep(const struct runtime_stacks *stacks, uint64_t hash)
{
	const struct known_frames *known = find_known(stacks, hash);

	return known && known->end == WIRE_RUNTIME_DEEP;
}

int runtime_stacks_splice(struct runtime_stacks *stacks, const struct runtime_sample *source,
			  const uint64_t *pcs, uint32_t num_pcs, struct runtime_level *ret,
			  uint32_t *ret_num, struct runtime_verdict *ret_verdict)
{
	const struct known_frames *known = find_known(stacks, source->frames);
	struct runtime_frame_list frames = {0};
	struct runtime_version version = {0};
	enum runtime_fit *ret_fit = &ret_verdict->fit;

	ret_verdict->may_lack_inlined = ret_verdict->proves_steps = false;
	if (known)
		frames = (struct runtime_frame_list){
			.items = stacks->frames.items + known->first,
			.length = known->num_frames,
			.end = known->end,
			.have_come = true,
		};
	else
		version = runtime_stacks_get_version(stacks, source->process);
	if (known ? known->runtime == WIRE_RUNTIME_V8 : version.kind == RUNTIME_V8) {
		struct mapped_runtime image = find_image(stacks, source->process);

		return v8_stacks_splice(stacks->v8, source, &image.v8, &frames, pcs, num_pcs, ret,
					ret_num, ret_verdict);
	}
	if (known ? known->runtime == WIRE_RUNTIME_HOTSPOT : version.kind == RUNTIME_HOTSPOT)
		return hotspot_stacks_splice(stacks->hotspot, source, &frames, pcs, num_pcs, ret,
					     ret_num, ret_verdict);
	if (known ? known->runtime == WIRE_RUNTIME_PHP : version.kind == RUNTIME_PHP)
		return script_stacks_splice(stacks->script, WIRE_RUNTIME_PHP, source, &frames, pcs,
					    num_pcs, ret, ret_num, ret_fit);
	if (known ? known->runtime == WIRE_RUNTIME_RUBY : version.kind == RUNTIME_RUBY)
		return script_stacks_splice(stacks->script, WIRE_RUNTIME_RUBY, source, &frames, pcs,
					    num_pcs, ret, ret_num, ret_fit);
	if (known ? known->runtime == WIRE_RUNTIME_PERL : version.kind == RUNTIME_PERL)
		return script_stacks_splice(stacks->script, WIRE_RUNTIME_PERL, source, &frames, pcs,
					    num_pcs, ret, ret_num, ret_fit);
	return python_stacks_splice(stacks->python, source, &frames, pcs, num_pcs, ret, ret_num,
				    ret_fit);
}
