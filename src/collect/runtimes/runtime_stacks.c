#include "collect/runtimes/runtime_stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/intern.h"
#include "base/log.h"
#include "collect/runtimes/runtime_ops.h"

struct known_frames {
	uint64_t hash;
	uint32_t first; /* in the array of frames */
	uint16_t num_frames;
	uint8_t end;     /* enum wire_runtime_end */
	uint8_t runtime; /* enum wire_runtime */
};
INTERN_TABLE(known_frames_table, struct known_frames, hash);

/* The runtime of a process, as long as its mappings are these. */
struct mapped_runtime {
	uint32_t process;
	uint32_t mappings_version;
	struct process_runtime runtime;
	uint64_t gil_start; /* of the memory that CPython's lock is in */
	uint64_t gil_end;
};
INTERN_TABLE(mapped_runtime_table, struct mapped_runtime, process, mappings_version);

struct runtime_stacks {
	struct runtime_sources sources;
	struct known_frames_table known;
	ARRAY(struct wire_runtime_frame) frames;
	void *of_runtimes[NUM_WIRE_INTERPRETERS]; /* of runtime_ops_get() */
	struct mapped_runtime_table images;
	ARRAY(struct runtime_counts) counts;
	ARRAY(bool) is_counted; /* by process: it is among these */
	uint64_t num_lost_codes;
};

struct runtime_stacks *runtime_stacks_new(struct profile *profile,
					  const struct runtime_sources *sources,
					  enum runtime_frames frames)
{
	struct runtime_stacks *stacks = calloc(1, sizeof(*stacks));
	struct runtime_context context = {.profile = profile, .shown = frames};

	if (!stacks)
		return NULL;
	stacks->sources = *sources;
	context.sources = &stacks->sources;
	context.opener = file_table_get_opener(sources->files);
	for (enum wire_runtime runtime = 0; runtime < NUM_WIRE_INTERPRETERS; runtime++) {
		stacks->of_runtimes[runtime] = runtime_ops_get(runtime)->create(&context, runtime);
		if (!stacks->of_runtimes[runtime]) {
			runtime_stacks_free(stacks);
			return NULL;
		}
	}
	return stacks;
}

static uint64_t count_lost(const struct runtime_stacks *stacks, enum wire_runtime runtime)
{
	const struct runtime_ops *ops = runtime_ops_get(runtime);

	return ops->count_lost && stacks->of_runtimes[runtime]
		       ? ops->count_lost(stacks->of_runtimes[runtime])
		       : 0;
}

void runtime_stacks_forget(struct runtime_stacks *stacks)
{
	for (enum wire_runtime runtime = 0; runtime < NUM_WIRE_INTERPRETERS; runtime++) {
		stacks->num_lost_codes += count_lost(stacks, runtime);
		runtime_ops_get(runtime)->free(stacks->of_runtimes[runtime]);
		stacks->of_runtimes[runtime] = NULL;
	}
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

	if (size < header || record->runtime >= NUM_WIRE_INTERPRETERS ||
	    record->num_frames > WIRE_MAX_RUNTIME_FRAMES ||
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

static int add_code(struct runtime_stacks *stacks, const struct wire_runtime_code *record,
		    size_t size)
{
	const struct runtime_ops *ops;
	int err;

	if (size < sizeof(*record) || record->runtime >= NUM_WIRE_INTERPRETERS)
		return 0;
	ops = runtime_ops_get(record->runtime);
	if (size < ops->code_bytes)
		return 0;
	err = ops->add_code(stacks->of_runtimes[record->runtime], record);
	if (!err || err == -ENOMEM)
		return err;
	/* The function is not kept: its frames will be unnamed. */
	stacks->num_lost_codes++;
	return 0;
}

int runtime_stacks_add(struct runtime_stacks *stacks, const void *data, size_t size)
{
	const wire_u32 *type = data;

	if (size < sizeof(*type))
		return 0;
	if (*type == WIRE_RUNTIME_STACK)
		return add_frames(stacks, data, size);
	return *type == WIRE_RUNTIME_CODE ? add_code(stacks, data, size) : 0;
}

uint64_t runtime_stacks_get_lost_codes(const struct runtime_stacks *stacks)
{
	uint64_t num_lost = stacks->num_lost_codes;

	for (enum wire_runtime runtime = 0; runtime < NUM_WIRE_INTERPRETERS; runtime++)
		num_lost += count_lost(stacks, runtime);
	return num_lost;
}

/* The memory of CPython's lock, if the runtime has one and its address is known. */
static void find_gil(const struct runtime_stacks *stacks, const struct process *process,
		     struct mapped_runtime *image)
{
	const struct runtime_build *build =
		runtime_sources_get_build(&stacks->sources, image->runtime.file);
	size_t count;
	const struct mapping *mappings = process_get_mappings(process, &count);
	uint64_t state;

	if (!image->runtime.is_known || image->runtime.runtime != WIRE_RUNTIME_PYTHON ||
	    runtime_sources_get_state(&stacks->sources, &mappings[image->runtime.mapping], &state))
		return;
	image->gil_start = state;
	image->gil_end = state + build->state_bytes;
}

static struct mapped_runtime find_image(struct runtime_stacks *stacks,
					const struct process *process)
{
	struct mapped_runtime image = {.process = process->id,
				       .mappings_version = process->mappings_version};
	uint32_t item = mapped_runtime_table_find(&stacks->images, &image);

	if (item != HASH_INDEX_NONE)
		return stacks->images.items[item];
	image.runtime = process_runtime_find(&stacks->sources, process);
	find_gil(stacks, process, &image);
	if (image.runtime.may_come)
		return image;
	if (mapped_runtime_table_add(&stacks->images, &image, &item))
		log_debug("out of memory: it will be looked for again");
	return image;
}

struct process_runtime runtime_stacks_get_runtime(struct runtime_stacks *stacks,
						  const struct process *process)
{
	return find_image(stacks, process).runtime;
}

bool runtime_stacks_is_gil(struct runtime_stacks *stacks, const struct process *process,
			   uint64_t futex)
{
	struct mapped_runtime image = find_image(stacks, process);

	return futex >= image.gil_start && futex < image.gil_end;
}

/* Whether a process is counted for the first time; false when out of memory. */
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

/* The counts of a version. Versions beyond the limit are counted as version 0.0. */
static struct runtime_counts *find_counts(struct runtime_stacks *stacks,
					  const struct process_runtime *version)
{
	struct runtime_counts wanted = {
		.runtime = version->runtime, .major = version->major, .minor = version->minor};
	struct runtime_counts *added;

	if (stacks->counts.length >= RECORDER_MAX_RUNTIMES - NUM_WIRE_RUNTIMES)
		wanted.major = wanted.minor = 0;
	array_for_each (&stacks->counts, counts)
		if (counts->runtime == version->runtime && counts->major == version->major &&
		    counts->minor == version->minor)
			return counts;
	array_for_each (&stacks->counts, counts)
		if (counts->runtime == wanted.runtime && counts->major == wanted.major &&
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

		if (mapping && mapping->file == image->runtime.file)
			return true;
	}
	return false;
}

static bool counts_by_file(const struct process_runtime *runtime)
{
	return runtime->is_there && runtime_get(runtime->runtime)->is_library;
}

bool runtime_stacks_counts_by_file(struct runtime_stacks *stacks, const struct process *process)
{
	struct process_runtime runtime = runtime_stacks_get_runtime(stacks, process);

	return counts_by_file(&runtime);
}

void runtime_stacks_count(struct runtime_stacks *stacks, const struct process *process,
			  struct runtime_verdict verdict, const uint64_t *pcs, uint32_t num_pcs)
{
	struct mapped_runtime image = find_image(stacks, process);
	struct process_runtime version = image.runtime;
	enum runtime_fit fit = verdict.fit;
	struct runtime_counts *counts;

	if (!version.is_there ||
	    (counts_by_file(&version) && !runs_in_file(&image, process, pcs, num_pcs)))
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

/* Without a frame in any stack so far, the array has no items to point to. */
static struct runtime_frame_list list_frames(const struct runtime_stacks *stacks,
					     const struct known_frames *known)
{
	return (struct runtime_frame_list){
		.items = known->num_frames ? &stacks->frames.items[known->first] : NULL,
		.length = known->num_frames,
		.end = known->end,
		.have_come = true,
	};
}

/* The frames of the stack are unknown. */
static void put_native(struct runtime_splice *splice)
{
	for (uint32_t i = 0; i < splice->num_pcs; i++)
		splice->levels[i] = (struct runtime_level){.pc = i};
	splice->num_levels = splice->num_pcs;
	splice->verdict.fit = RUNTIME_EARLY;
}

int runtime_stacks_splice(struct runtime_stacks *stacks, const struct runtime_sample *source,
			  const uint64_t *pcs, uint32_t num_pcs, struct runtime_level *ret,
			  uint32_t *ret_num, struct runtime_verdict *ret_verdict)
{
	const struct known_frames *known = find_known(stacks, source->frames);
	struct process_runtime version = runtime_stacks_get_runtime(stacks, source->process);
	struct runtime_splice splice = {
		.source = source,
		.build = runtime_sources_get_build(&stacks->sources, version.file),
		.pcs = pcs,
		.num_pcs = num_pcs,
		.levels = ret,
	};
	enum wire_runtime runtime = known ? known->runtime : version.runtime;
	int err = 0;

	if (known)
		splice.frames = list_frames(stacks, known);
	if (splice.build && splice.build->runtime != runtime)
		splice.build = NULL;
	if (known || (version.is_there && !runtime_is_named(runtime)))
		err = runtime_ops_get(runtime)->splice(stacks->of_runtimes[runtime], &splice);
	else
		put_native(&splice);
	*ret_num = splice.num_levels;
	*ret_verdict = splice.verdict;
	return err;
}
