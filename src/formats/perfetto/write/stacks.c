/*
 * A stack is interned as the numbers of its frames, outermost first; a frame as function, mapping
 * and address. An inlined call is a frame of its own, at the address of the function that it was
 * inlined into.
 *
 * Readers look addresses up in the file, and so need them as in the file's own headers. A mapping
 * has their distance from file offsets, so that our reader gets the offsets again. Segments of one
 * file may differ in that: the file has several mappings then.
 *
 * Messages of protobuf-c are trees of pointers. The memory of a packet is allocated chunk by chunk
 * into `garbage` and freed at once when the packet is written.
 *
 * Stacks are most of a trace, so that their order matters for its compressed size: locations are
 * emitted in the order of the code, stacks in that of a depth-first walk through the tree of stacks
 * (rank_stacks()). So neighbours have common prefixes.
 */
#include "formats/perfetto/write/stacks.h"

#include <errno.h>

#include "base/array.h"
#include "base/intern.h"
#include "base/utf8.h"
#include "formats/arena.h"
#include "formats/perfetto/write/numbers.h"

#define NO_MODULE UINT32_MAX

/* A file as mapped with a bias, or, without a module, a name in place of a file. */
struct mapping_key {
	uint32_t module; /* NO_MODULE: none */
	uint32_t path;   /* string */
	uint64_t load_bias;
	bool has_load_bias;
};
INTERN_TABLE(mapping_keys, struct mapping_key, module, path, load_bias, has_load_bias);

/* A packet is written when it has about so many bytes. */
#define PACKET_BYTES (64u << 10)

/* Kinds of interned items of a sequence, with their id in the profile. */
enum emitted_kind {
	EMITTED_FUNCTION, /* string */
	EMITTED_SOURCE,   /* string */
	EMITTED_PATH,     /* string */
	EMITTED_BUILD_ID, /* module */
	EMITTED_MAPPING,  /* number of its key */
	EMITTED_LOCATION,
	EMITTED_STACK,
	NUM_EMITTED_KINDS,
};

struct perfetto_stacks {
	const struct profile *profile;
	struct perfetto_stream *stream;
	uint32_t sequence;
	struct perfetto_emitted emitted[NUM_EMITTED_KINDS];
	struct mapping_keys mapping_keys; /* numbers them */
	uint32_t *short_names; /* by function that was emitted: the name that was emitted with it */
	uint32_t *frame_numbers; /* by frame */
	/* by stack: its place in an order where common prefixes are adjacent */
	uint32_t *ranks;
	/* Items to be emitted. */
	ARRAY(uint32_t) new_stacks;
	ARRAY(uint32_t) new_locations;
	/* New for the packet that is being made; all of it freed with it. */
	ARRAY(Perfetto__InternedString *) functions;
	ARRAY(Perfetto__InternedString *) sources;
	ARRAY(Perfetto__InternedString *) paths;
	ARRAY(Perfetto__InternedString *) build_ids;
	ARRAY(Perfetto__Mapping *) mappings;
	ARRAY(Perfetto__Frame *) frames;
	ARRAY(Perfetto__Callstack *) callstacks;
	struct arena garbage; /* memory of the messages, until they are written */
	size_t size_bytes;    /* about */
};

static void discard(struct perfetto_stacks *stacks)
{
	arena_clear(&stacks->garbage);
	stacks->functions.length = 0;
	stacks->sources.length = 0;
	stacks->paths.length = 0;
	stacks->build_ids.length = 0;
	stacks->mappings.length = 0;
	stacks->frames.length = 0;
	stacks->callstacks.length = 0;
	stacks->size_bytes = 0;
}

/* ---- parts of a stack --------------------------------------------------------------------- */

/* A message with a copy of these bytes. Build IDs are bytes; fit() has made texts UTF-8. */
static Perfetto__InternedString *new_string(struct perfetto_stacks *stacks, uint64_t number,
					    const void *data, size_t length)
{
	Perfetto__InternedString *string = arena_add(&stacks->garbage, malloc(sizeof(*string)));
	uint8_t *copy = arena_add(&stacks->garbage, malloc(length + 1));

	if (!string || !copy)
		return NULL;
	memcpy(copy, data, length);
	stacks->size_bytes += length;
	*string = (Perfetto__InternedString)PERFETTO__INTERNED_STRING__INIT;
	string->has_iid = 1;
	string->iid = number;
	string->has_str = 1;
	string->str.data = copy;
	string->str.len = length;
	return string;
}

/* Append a string of the profile to the text, as the format takes it. */
static void fit(const struct perfetto_stacks *stacks, uint32_t string, struct text *text)
{
	text_append_string(text, "");
	utf8_append(text, profile_get_string(stacks->profile, string),
		    profile_get_string_length(stacks->profile, string));
}

static Perfetto__InternedString *new_text(struct perfetto_stacks *stacks, uint64_t number,
					  uint32_t string)
{
	_cleanup_(text_release) struct text text = {0};

	fit(stacks, string, &text);
	return text.failed ? NULL : new_string(stacks, number, text.data, text.length);
}

#define PUSH(list, message)                                                              \
	({                                                                               \
		__typeof__((list).items) added_ = (message) ? array_add(&(list)) : NULL; \
                                                                                         \
		if (added_)                                                              \
			*added_ = (message);                                             \
		added_ ? 0 : -ENOMEM;                                                    \
	})

/* Emit the string `id` once, into the list of its kind; its number goes to *ret. */
#define USE_STRING(stacks, kind, list, id, ret)                                                   \
	({                                                                                        \
		bool is_new_;                                                                     \
		int err_ = perfetto_emitted_add(&(stacks)->emitted[kind], (id), (ret), &is_new_); \
                                                                                                  \
		if (!err_ && is_new_) {                                                           \
			Perfetto__InternedString *message_ = new_text((stacks), *(ret), (id));    \
			err_ = PUSH((stacks)->list, message_);                                    \
		}                                                                                 \
		err_;                                                                             \
	})

/* Find the place of a function's short name in its message; false if not found. */
static bool find_short_name(const struct perfetto_stacks *stacks, uint32_t short_name,
			    Perfetto__InternedString *function)
{
	_cleanup_(text_release) struct text text = {0};
	const uint8_t *found;

	fit(stacks, short_name, &text);
	if (text.failed || !text.length)
		return false;
	found = memmem(function->str.data, function->str.len, text.data, text.length);
	if (!found)
		return false;
	function->short_start = (uint32_t)(found - function->str.data);
	function->has_short_start = function->short_start != 0;
	function->has_short_length = 1;
	function->short_length = (uint32_t)text.length;
	return true;
}

/*
 * A full name is interned once, with one short name. A frame that has another one gets that by itself.
 */
static int use_function(struct perfetto_stacks *stacks, uint32_t name, uint32_t short_name,
			uint64_t *ret)
{
	Perfetto__InternedString *message;
	bool is_new;
	int err = perfetto_emitted_add(&stacks->emitted[EMITTED_FUNCTION], name, ret, &is_new);

	if (err || !is_new)
		return err;
	message = new_text(stacks, *ret, name);
	if (!message)
		return -ENOMEM;
	stacks->short_names[name] = name;
	if (short_name != name && find_short_name(stacks, short_name, message))
		stacks->short_names[name] = short_name;
	return PUSH(stacks->functions, message);
}

/*
 * Most short names are a part of the full one, and are emitted as its start and length; the others as
 * names of their own.
 */
static int use_names(struct perfetto_stacks *stacks, const struct frame *frame,
		     Perfetto__Frame *message)
{
	int err = use_function(stacks, frame->full_name, frame->name, &message->function_name_id);

	message->has_function_name_id = 1;
	if (err || stacks->short_names[frame->full_name] == frame->name)
		return err;
	message->has_short_name_id = 1;
	return use_function(stacks, frame->name, frame->name, &message->short_name_id);
}

static int use_build_id(struct perfetto_stacks *stacks, uint32_t module, uint64_t *ret)
{
	const struct module *file = profile_get_module(stacks->profile, module);
	Perfetto__InternedString *message;
	bool is_new;
	int err = perfetto_emitted_add(&stacks->emitted[EMITTED_BUILD_ID], module, ret, &is_new);

	if (err || !is_new)
		return err;
	message = new_string(stacks, *ret, file->build_id, file->build_id_size);
	return PUSH(stacks->build_ids, message);
}

/* The mapping of a frame: its file, or a name in place of a file ("[kernel]"). */
static int use_mapping(struct perfetto_stacks *stacks, const struct mapping_key *key, uint64_t *ret)
{
	Perfetto__Mapping *mapping;
	uint64_t *paths;
	uint32_t number;
	bool is_new;
	int err = mapping_keys_intern(&stacks->mapping_keys, key, &number);

	if (err)
		return err;
	err = perfetto_emitted_add(&stacks->emitted[EMITTED_MAPPING], number, ret, &is_new);
	if (err || !is_new)
		return err;
	mapping = arena_add(&stacks->garbage, malloc(sizeof(*mapping)));
	paths = arena_add(&stacks->garbage, malloc(sizeof(*paths)));
	if (!mapping || !paths)
		return -ENOMEM;
	*mapping = (Perfetto__Mapping)PERFETTO__MAPPING__INIT;
	mapping->has_iid = 1;
	mapping->iid = *ret;
	mapping->has_load_bias = key->has_load_bias;
	mapping->load_bias = key->load_bias;
	mapping->n_path_string_ids = 1;
	mapping->path_string_ids = paths;
	if (key->module != NO_MODULE &&
	    profile_get_module(stacks->profile, key->module)->build_id_size) {
		mapping->has_build_id = 1;
		err = use_build_id(stacks, key->module, &mapping->build_id);
		if (err)
			return err;
	}
	err = USE_STRING(stacks, EMITTED_PATH, paths, key->path, paths);
	if (err)
		return err;
	return PUSH(stacks->mappings, mapping);
}

static int use_mapping_of(struct perfetto_stacks *stacks, const struct location *location,
			  const struct frame *frame, uint64_t *ret)
{
	struct mapping_key key = {.module = NO_MODULE, .path = frame->module};

	if (location_is_in_module(location)) {
		key.module = location->owner;
		key.path = profile_get_module(stacks->profile, location->owner)->path;
	}
	if (location->has_elf_address) {
		key.load_bias = location->elf_address - location->address;
		key.has_load_bias = true;
	}
	return use_mapping(stacks, &key, ret);
}

static int add_frame(struct perfetto_stacks *stacks, const struct location *location, uint32_t id)
{
	const struct frame *frame = profile_get_frame(stacks->profile, id);
	Perfetto__Frame *message = arena_add(&stacks->garbage, malloc(sizeof(*message)));
	int err;

	if (!message)
		return -ENOMEM;
	*message = (Perfetto__Frame)PERFETTO__FRAME__INIT;
	message->has_iid = 1;
	message->iid = stacks->frame_numbers[id];
	stacks->size_bytes += 16;
	message->has_mapping_id = 1;
	message->has_rel_pc = location->space != LOCATION_NAMED;
	message->rel_pc = location->has_elf_address ? location->elf_address : location->address;
	message->has_is_elf_address = location->space == LOCATION_ELF;
	message->is_elf_address = location->space == LOCATION_ELF;
	message->has_kind = frame->kind != FRAME_USER;
	message->kind = (int32_t)frame_kinds[frame->kind].perfetto_number;
	message->has_own_kind = frame_kind_find_perfetto((uint64_t)message->kind) != frame->kind;
	message->own_kind = frame->kind;
	message->has_is_inlined = frame->is_inlined;
	message->is_inlined = frame->is_inlined;
	err = use_names(stacks, frame, message);
	if (err)
		return err;
	err = use_mapping_of(stacks, location, frame, &message->mapping_id);
	if (err)
		return err;
	if (frame->file != STRING_EMPTY) {
		message->has_source_path_iid = 1;
		message->has_line_number = 1;
		message->line_number = frame->line;
		err = USE_STRING(stacks, EMITTED_SOURCE, sources, frame->file,
				 &message->source_path_iid);
		if (err)
			return err;
	}
	return PUSH(stacks->frames, message);
}

/* ---- packets ------------------------------------------------------------------------------ */

/* Write the added items, and forget them. */
static int flush(struct perfetto_stacks *stacks)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	int err;

	if (!stacks->garbage.blocks.length)
		return 0;
	data.n_function_names = stacks->functions.length;
	data.function_names = stacks->functions.items;
	data.n_source_paths = stacks->sources.length;
	data.source_paths = stacks->sources.items;
	data.n_mapping_paths = stacks->paths.length;
	data.mapping_paths = stacks->paths.items;
	data.n_build_ids = stacks->build_ids.length;
	data.build_ids = stacks->build_ids.items;
	data.n_mappings = stacks->mappings.length;
	data.mappings = stacks->mappings.items;
	data.n_frames = stacks->frames.length;
	data.frames = stacks->frames.items;
	data.n_callstacks = stacks->callstacks.length;
	data.callstacks = stacks->callstacks.items;
	packet.has_trusted_packet_sequence_id = 1;
	packet.trusted_packet_sequence_id = stacks->sequence;
	packet.has_sequence_flags = 1;
	packet.sequence_flags = PERFETTO_STATE_NEEDED;
	packet.interned_data = &data;
	err = perfetto_stream_add(stacks->stream, &packet);
	discard(stacks);
	return err;
}

static int flush_when_full(struct perfetto_stacks *stacks)
{
	return stacks->size_bytes < PACKET_BYTES ? 0 : flush(stacks);
}

static int emit_location(struct perfetto_stacks *stacks, uint32_t id)
{
	const struct location *location = profile_get_location(stacks->profile, id);

	for (uint32_t i = 0; i < location->num_frames; i++) {
		int err = add_frame(stacks, location, location->first_frame + i);

		if (err)
			return err;
	}
	return flush_when_full(stacks);
}

static size_t count_frames(const struct perfetto_stacks *stacks, uint32_t stack)
{
	size_t count = 0;

	for (; stack != STACK_EMPTY; stack = profile_get_stack_parent(stacks->profile, stack))
		count += profile_get_location(stacks->profile,
					      profile_get_stack_location(stacks->profile, stack))
				 ->num_frames;
	return count;
}

static int emit_stack(struct perfetto_stacks *stacks, uint32_t stack)
{
	size_t count = count_frames(stacks, stack);
	Perfetto__Callstack *message = arena_add(&stacks->garbage, malloc(sizeof(*message)));
	uint64_t *frames = arena_add(&stacks->garbage, malloc((count + 1) * sizeof(*frames)));
	int err;

	if (!message || !frames)
		return -ENOMEM;
	*message = (Perfetto__Callstack)PERFETTO__CALLSTACK__INIT;
	message->has_iid = 1;
	message->iid = perfetto_stacks_get_number(stacks, stack);
	message->n_frame_ids = count;
	message->frame_ids = frames;
	for (; stack != STACK_EMPTY; stack = profile_get_stack_parent(stacks->profile, stack)) {
		const struct location *location = profile_get_location(
			stacks->profile, profile_get_stack_location(stacks->profile, stack));

		for (uint32_t i = 0; i < location->num_frames; i++)
			frames[--count] = stacks->frame_numbers[location->first_frame + i];
	}
	err = PUSH(stacks->callstacks, message);
	if (err)
		return err;
	stacks->size_bytes += message->n_frame_ids * 3;
	return flush_when_full(stacks);
}

/* ---- order of stacks ---------------------------------------------------------------------- */

static int compare_ranks(const void *a, const void *b, void *context)
{
	const struct perfetto_stacks *stacks = context;
	uint32_t left = stacks->ranks[*(const uint32_t *)a];
	uint32_t right = stacks->ranks[*(const uint32_t *)b];

	return (left > right) - (left < right);
}

static int compare_locations(const void *a, const void *b, void *context)
{
	const struct perfetto_stacks *stacks = context;

	return perfetto_compare_locations(
		stacks->profile, profile_get_location(stacks->profile, *(const uint32_t *)a),
		profile_get_location(stacks->profile, *(const uint32_t *)b));
}

/* Note items that are not emitted yet: the stack, and the locations on it. */
int perfetto_stacks_use(struct perfetto_stacks *stacks, uint32_t stack)
{
	uint64_t ignored;
	uint32_t *added;
	bool is_new;
	int err;

	if (stack == STACK_EMPTY)
		return 0;
	err = perfetto_emitted_add(&stacks->emitted[EMITTED_STACK], stack, &ignored, &is_new);
	if (err || !is_new)
		return err;
	added = array_add(&stacks->new_stacks);
	if (!added)
		return -ENOMEM;
	*added = stack;
	for (; stack != STACK_EMPTY; stack = profile_get_stack_parent(stacks->profile, stack)) {
		uint32_t location = profile_get_stack_location(stacks->profile, stack);

		err = perfetto_emitted_add(&stacks->emitted[EMITTED_LOCATION], location, &ignored,
					   &is_new);
		if (err)
			return err;
		if (!is_new)
			continue;
		added = array_add(&stacks->new_locations);
		if (!added)
			return -ENOMEM;
		*added = location;
	}
	return 0;
}

int perfetto_stacks_emit(struct perfetto_stacks *stacks, uint32_t sequence)
{
	int err;

	if (!stacks->new_stacks.length)
		return 0;
	stacks->sequence = sequence;
	if (stacks->new_locations.length)
		qsort_r(stacks->new_locations.items, stacks->new_locations.length,
			sizeof(*stacks->new_locations.items), compare_locations, stacks);
	qsort_r(stacks->new_stacks.items, stacks->new_stacks.length,
		sizeof(*stacks->new_stacks.items), compare_ranks, stacks);
	/* Frames before the callstacks that refer to them. */
	array_for_each (&stacks->new_locations, location) {
		err = emit_location(stacks, *location);
		if (err)
			return err;
	}
	array_for_each (&stacks->new_stacks, stack) {
		err = emit_stack(stacks, *stack);
		if (err)
			return err;
	}
	stacks->new_stacks.length = 0;
	stacks->new_locations.length = 0;
	return flush(stacks);
}

uint64_t perfetto_stacks_get_number(const struct perfetto_stacks *stacks, uint32_t stack)
{
	return stacks->emitted[EMITTED_STACK].numbers[stack];
}

void perfetto_stacks_clear(struct perfetto_stacks *stacks)
{
	for (size_t i = 0; i < NUM_EMITTED_KINDS; i++)
		perfetto_emitted_clear(&stacks->emitted[i]);
}

/* ---- all of it ---------------------------------------------------------------------------- */

/*
 * The position of each stack in a depth-first walk, without recursion: a subtree takes as many
 * positions as it has stacks, and parents have smaller ids than their children.
 */
static uint32_t *rank_stacks(const struct profile *profile)
{
	uint32_t count = profile_count_stacks(profile);
	_cleanup_free_ uint32_t *sizes = calloc((size_t)count + 1, sizeof(*sizes));
	_cleanup_free_ uint32_t *nexts = calloc((size_t)count + 1, sizeof(*nexts));
	_cleanup_free_ uint32_t *ranks = calloc((size_t)count + 1, sizeof(*ranks));

	if (!sizes || !nexts || !ranks)
		return NULL;
	/* The sizes of subtrees, from the leaves up. */
	for (uint32_t stack = count; stack-- > 1;)
		sizes[profile_get_stack_parent(profile, stack)] += ++sizes[stack];
	/* From the root down: nexts[] is the place of the next child of each. */
	for (uint32_t stack = 1; stack < count; stack++) {
		uint32_t *next = &nexts[profile_get_stack_parent(profile, stack)];

		ranks[stack] = *next;
		nexts[stack] = *next + 1;
		*next += sizes[stack];
	}
	return return_ptr(ranks);
}

int perfetto_stacks_new(const struct profile *profile, const struct timeline *timeline,
			struct perfetto_stream *stream, struct perfetto_stacks **ret)
{
	_cleanup_(perfetto_stacks_freep) struct perfetto_stacks *stacks =
		calloc(1, sizeof(*stacks));
	int err;

	if (!stacks)
		return -ENOMEM;
	stacks->profile = profile;
	stacks->stream = stream;
	stacks->short_names = calloc((size_t)profile_count_strings(profile) + 1, sizeof(uint32_t));
	stacks->ranks = rank_stacks(profile);
	if (!stacks->short_names || !stacks->ranks)
		return -ENOMEM;
	err = perfetto_number_frames(profile, timeline, &stacks->frame_numbers);
	if (err)
		return err;
	*ret = return_ptr(stacks);
	return 0;
}

void perfetto_stacks_free(struct perfetto_stacks *stacks)
{
	if (!stacks)
		return;
	discard(stacks);
	for (size_t i = 0; i < NUM_EMITTED_KINDS; i++)
		perfetto_emitted_release(&stacks->emitted[i]);
	free(stacks->short_names);
	free(stacks->frame_numbers);
	free(stacks->ranks);
	mapping_keys_release(&stacks->mapping_keys);
	array_release(&stacks->new_stacks);
	array_release(&stacks->new_locations);
	array_release(&stacks->functions);
	array_release(&stacks->sources);
	array_release(&stacks->paths);
	array_release(&stacks->build_ids);
	array_release(&stacks->mappings);
	array_release(&stacks->frames);
	array_release(&stacks->callstacks);
	arena_release(&stacks->garbage);
	free(stacks);
}
