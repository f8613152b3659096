/*
 * A stack is interned as the numbers of its frames, outermost first; a frame as function, mapping
 * and address. An inlined call is a frame of its own, at the address of the function that it was
 * inlined into.
 *
 * Readers look addresses up in the file, and so need them as in the file's own headers. A mapping
 * has their distance from file offsets, so that our reader gets the offsets again. Segments of one
 * file may differ in that: the file has several mappings then.
 *
 * Items are encoded at once, each kind into a text of its own, since the kinds have an order in the
 * message.
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
#include "formats/perfetto/write/numbers.h"
#include "formats/protobuf_writer.h"

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

/* The lists of InternedData, in the order of their fields. */
enum item_kind {
	ITEM_FUNCTION,
	ITEM_FRAME,
	ITEM_CALLSTACK,
	ITEM_BUILD_ID,
	ITEM_PATH,
	ITEM_SOURCE,
	ITEM_MAPPING,
	NUM_ITEM_KINDS,
};
static const uint32_t item_fields[NUM_ITEM_KINDS] = {
	[ITEM_FUNCTION] = 5, [ITEM_FRAME] = 6,   [ITEM_CALLSTACK] = 7, [ITEM_BUILD_ID] = 16,
	[ITEM_PATH] = 17,    [ITEM_SOURCE] = 18, [ITEM_MAPPING] = 19,
};

/* Fields of the items. */
enum { STRING_IID = 1, STRING_STR, STRING_SHORT_START = 1000, STRING_SHORT_LENGTH };
enum { MAPPING_IID = 1, MAPPING_BUILD_ID, MAPPING_LOAD_BIAS = 6, MAPPING_PATH };
enum {
	FRAME_IID = 1,
	FRAME_FUNCTION,
	FRAME_MAPPING,
	FRAME_REL_PC,
	FRAME_SOURCE,
	FRAME_LINE,
	FRAME_KIND,
	FRAME_SHORT_NAME = 1000,
	FRAME_IS_INLINED,
	FRAME_IS_ELF_ADDRESS,
	FRAME_OWN_KIND,
};
enum { CALLSTACK_IID = 1, CALLSTACK_FRAME };

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
	/* Encoded for the packet that is being made. */
	struct text items[NUM_ITEM_KINDS];
	struct text text;        /* text being made to fit the format */
	ARRAY(uint32_t) numbers; /* of the frames of a stack */
	size_t size_bytes;       /* of items, about */
};

static void discard(struct perfetto_stacks *stacks)
{
	for (size_t i = 0; i < NUM_ITEM_KINDS; i++)
		text_truncate(&stacks->items[i], 0);
	stacks->size_bytes = 0;
}

/* ---- parts of a stack --------------------------------------------------------------------- */

/* Make a string of the profile fit the format, in stacks->text. Returns 0 or -ENOMEM. */
static int fit(struct perfetto_stacks *stacks, uint32_t string)
{
	text_truncate(&stacks->text, 0);
	text_append_string(&stacks->text, "");
	utf8_append(&stacks->text, profile_get_string(stacks->profile, string),
		    profile_get_string_length(stacks->profile, string));
	return stacks->text.failed ? -ENOMEM : 0;
}

/* Position of a short name in its function's name. */
struct short_part {
	uint32_t start;
	uint32_t length; /* 0: the whole name, or not in it */
};

/* Build IDs are bytes; fit() has made texts UTF-8. */
static void put_string(struct perfetto_stacks *stacks, enum item_kind kind, uint64_t number,
		       const void *data, size_t length, struct short_part part)
{
	struct text *items = &stacks->items[kind];
	size_t mark = protobuf_start(items, item_fields[kind]);

	protobuf_put_number(items, STRING_IID, number);
	protobuf_put_bytes(items, STRING_STR, data, length);
	protobuf_put_nonzero(items, STRING_SHORT_START, part.start);
	protobuf_put_nonzero(items, STRING_SHORT_LENGTH, part.length);
	protobuf_end(items, mark);
	stacks->size_bytes += length;
}

/* The number of a string, which is emitted once among those of its kind. */
static int use_string(struct perfetto_stacks *stacks, enum emitted_kind emitted,
		      enum item_kind kind, uint32_t string, uint64_t *ret)
{
	bool is_new;
	int err = perfetto_emitted_add(&stacks->emitted[emitted], string, ret, &is_new);

	if (err || !is_new)
		return err;
	err = fit(stacks, string);
	if (err)
		return err;
	put_string(stacks, kind, *ret, stacks->text.data, stacks->text.length,
		   (struct short_part){0});
	return 0;
}

/* The place of a short name in the name that was made to fit. */
static struct short_part find_short_name(const struct perfetto_stacks *stacks, uint32_t short_name)
{
	_cleanup_(text_release) struct text text = {0};
	const char *found;

	utf8_append(&text, profile_get_string(stacks->profile, short_name),
		    profile_get_string_length(stacks->profile, short_name));
	if (text.failed || !text.length)
		return (struct short_part){0};
	found = memmem(stacks->text.data, stacks->text.length, text.data, text.length);
	if (!found)
		return (struct short_part){0};
	return (struct short_part){(uint32_t)(found - stacks->text.data), (uint32_t)text.length};
}

/* A full name is interned once, with one short name. A frame with another one gets that separately. */
static int use_function(struct perfetto_stacks *stacks, uint32_t name, uint32_t short_name,
			uint64_t *ret)
{
	struct short_part part = {0};
	bool is_new;
	int err = perfetto_emitted_add(&stacks->emitted[EMITTED_FUNCTION], name, ret, &is_new);

	if (err || !is_new)
		return err;
	err = fit(stacks, name);
	if (err)
		return err;
	if (short_name != name)
		part = find_short_name(stacks, short_name);
	stacks->short_names[name] = part.length ? short_name : name;
	put_string(stacks, ITEM_FUNCTION, *ret, stacks->text.data, stacks->text.length, part);
	return 0;
}

/*
 * Most short names are a part of the full one, and are emitted as its start and length; the others
 * as names of their own: then *ret_short is not 0.
 */
static int use_names(struct perfetto_stacks *stacks, const struct frame *frame, uint64_t *ret_full,
		     uint64_t *ret_short)
{
	int err = use_function(stacks, frame->full_name, frame->name, ret_full);

	*ret_short = 0;
	if (err || stacks->short_names[frame->full_name] == frame->name)
		return err;
	return use_function(stacks, frame->name, frame->name, ret_short);
}

static int use_build_id(struct perfetto_stacks *stacks, uint32_t module, uint64_t *ret)
{
	const struct module *file = profile_get_module(stacks->profile, module);
	bool is_new;
	int err = perfetto_emitted_add(&stacks->emitted[EMITTED_BUILD_ID], module, ret, &is_new);

	if (!err && is_new)
		put_string(stacks, ITEM_BUILD_ID, *ret, file->build_id, file->build_id_size,
			   (struct short_part){0});
	return err;
}

/* The mapping of a frame: its file, or a name in place of a file ("[kernel]"). */
static int use_mapping(struct perfetto_stacks *stacks, const struct mapping_key *key, uint64_t *ret)
{
	struct text *items = &stacks->items[ITEM_MAPPING];
	uint64_t build_id = 0;
	uint64_t path;
	uint32_t number;
	size_t mark;
	bool is_new;
	int err = mapping_keys_intern(&stacks->mapping_keys, key, &number);

	if (err)
		return err;
	err = perfetto_emitted_add(&stacks->emitted[EMITTED_MAPPING], number, ret, &is_new);
	if (err || !is_new)
		return err;
	if (key->module != NO_MODULE &&
	    profile_get_module(stacks->profile, key->module)->build_id_size)
		err = use_build_id(stacks, key->module, &build_id);
	if (!err)
		err = use_string(stacks, EMITTED_PATH, ITEM_PATH, key->path, &path);
	if (err)
		return err;
	mark = protobuf_start(items, item_fields[ITEM_MAPPING]);
	protobuf_put_number(items, MAPPING_IID, *ret);
	protobuf_put_nonzero(items, MAPPING_BUILD_ID, build_id);
	if (key->has_load_bias)
		protobuf_put_number(items, MAPPING_LOAD_BIAS, key->load_bias);
	protobuf_put_number(items, MAPPING_PATH, path);
	protobuf_end(items, mark);
	return 0;
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
	uint32_t kind = frame_kinds[frame->kind].perfetto_number;
	struct text *items = &stacks->items[ITEM_FRAME];
	uint64_t function;
	uint64_t short_name;
	uint64_t mapping;
	uint64_t source = 0;
	size_t mark;
	int err = use_names(stacks, frame, &function, &short_name);

	if (!err)
		err = use_mapping_of(stacks, location, frame, &mapping);
	if (!err && frame->file != STRING_EMPTY)
		err = use_string(stacks, EMITTED_SOURCE, ITEM_SOURCE, frame->file, &source);
	if (err)
		return err;
	stacks->size_bytes += 16;
	mark = protobuf_start(items, item_fields[ITEM_FRAME]);
	protobuf_put_number(items, FRAME_IID, stacks->frame_numbers[id]);
	protobuf_put_number(items, FRAME_FUNCTION, function);
	protobuf_put_number(items, FRAME_MAPPING, mapping);
	if (location->space != LOCATION_NAMED)
		protobuf_put_number(items, FRAME_REL_PC,
				    location->has_elf_address ? location->elf_address
							      : location->address);
	if (source) {
		protobuf_put_number(items, FRAME_SOURCE, source);
		protobuf_put_number(items, FRAME_LINE, frame->line);
	}
	if (frame->kind != FRAME_USER)
		protobuf_put_number(items, FRAME_KIND, kind);
	protobuf_put_nonzero(items, FRAME_SHORT_NAME, short_name);
	protobuf_put_nonzero(items, FRAME_IS_INLINED, frame->is_inlined);
	protobuf_put_nonzero(items, FRAME_IS_ELF_ADDRESS, location->space == LOCATION_ELF);
	if (frame_kind_find_perfetto(kind) != frame->kind)
		protobuf_put_number(items, FRAME_OWN_KIND, frame->kind);
	protobuf_end(items, mark);
	return 0;
}

/* ---- packets ------------------------------------------------------------------------------ */

/* Write the added items, and forget them. */
static int flush(struct perfetto_stacks *stacks)
{
	struct text *packet = perfetto_stream_start(stacks->stream);
	size_t mark;
	int err;

	protobuf_put_number(packet, PERFETTO_PACKET_SEQUENCE, stacks->sequence);
	mark = protobuf_start(packet, PERFETTO_PACKET_INTERNED);
	for (size_t i = 0; i < NUM_ITEM_KINDS; i++) {
		text_append(packet, stacks->items[i].data, stacks->items[i].length);
		packet->failed |= stacks->items[i].failed;
	}
	protobuf_end(packet, mark);
	protobuf_put_number(packet, PERFETTO_PACKET_FLAGS, PERFETTO_STATE_NEEDED);
	err = perfetto_stream_end(stacks->stream);
	discard(stacks);
	return err;
}

static bool has_items(const struct perfetto_stacks *stacks)
{
	for (size_t i = 0; i < NUM_ITEM_KINDS; i++)
		if (stacks->items[i].length || stacks->items[i].failed)
			return true;
	return false;
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

static int list_frames(struct perfetto_stacks *stacks, uint32_t stack)
{
	stacks->numbers.length = 0;
	for (; stack != STACK_EMPTY; stack = profile_get_stack_parent(stacks->profile, stack)) {
		const struct location *location = profile_get_location(
			stacks->profile, profile_get_stack_location(stacks->profile, stack));

		for (uint32_t i = 0; i < location->num_frames; i++) {
			uint32_t *added = array_add(&stacks->numbers);

			if (!added)
				return -ENOMEM;
			*added = stacks->frame_numbers[location->first_frame + i];
		}
	}
	return 0;
}

/* Its frames, outermost first. */
static int emit_stack(struct perfetto_stacks *stacks, uint32_t stack)
{
	struct text *items = &stacks->items[ITEM_CALLSTACK];
	size_t mark;
	int err = list_frames(stacks, stack);

	if (err)
		return err;
	mark = protobuf_start(items, item_fields[ITEM_CALLSTACK]);
	protobuf_put_number(items, CALLSTACK_IID, perfetto_stacks_get_number(stacks, stack));
	for (size_t i = stacks->numbers.length; i-- > 0;)
		protobuf_put_number(items, CALLSTACK_FRAME, stacks->numbers.items[i]);
	protobuf_end(items, mark);
	stacks->size_bytes += stacks->numbers.length * 3;
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
	return has_items(stacks) ? flush(stacks) : 0;
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
	for (size_t i = 0; i < NUM_EMITTED_KINDS; i++)
		perfetto_emitted_release(&stacks->emitted[i]);
	free(stacks->short_names);
	free(stacks->frame_numbers);
	free(stacks->ranks);
	mapping_keys_release(&stacks->mapping_keys);
	array_release(&stacks->new_stacks);
	array_release(&stacks->new_locations);
	array_release(&stacks->numbers);
	for (size_t i = 0; i < NUM_ITEM_KINDS; i++)
		text_release(&stacks->items[i]);
	text_release(&stacks->text);
	free(stacks);
}
