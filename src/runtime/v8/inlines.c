/*
 * The search for the code of an instruction. Instructions of an object start at a multiple of CODE_ALIGNMENT, behind its head. The search
 * goes back from the instruction to the first head that fits:
 *
 *     map of such objects, code object ──> where its instructions start, and how many
 *                                          inlined code ──> literals (functions), translations, inlinings
 *                                          positions
 *
 * (until V8 10 both are one object). A description is kept until other code is at its place. A lookup compares the function of the code with
 * the function of the frame. It compares the number of the code only if CHECK_NS have passed since the last time: code of the same function
 * at the same place is rare.
 */
#include "runtime/v8_inlines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/intern.h"
#include "runtime/v8/memory_walk.h"
#include "runtime/v8/optimized_code.h"
#include "wire/wire.h"

#define CODE_ALIGNMENT 32

/* Limits of the search: distance to the start of the code, bytes of a read, and words that may be the map of a head. */
#define CODE_BYTES_MAX (1u << 20)
#define FIRST_BYTES    (4u << 10)
#define READ_BYTES_MAX (64u << 10)
#define CANDIDATES_MAX 256
/* Cost of a read besides its bytes, in bytes. */
#define READ_COST 2048

/* Limits of an array: words of deoptimization data, literals, bytes. */
#define DEOPT_WORDS_MAX (1u << 16)
#define LITERALS_MAX    (1u << 14)
#define ARRAY_BYTES_MAX (1u << 20)
/* Jumps between a position and an instruction without one. */
#define JUMPS_MAX 4

/* Time until a description, or a failure to read it, is checked again. */
#define CHECK_NS 1000000000ull

/* Head of an array: map and length. */
#define ARRAY_HEAD_BYTES 16
#define FIELDS_BYTES     96
_Static_assert(FIELDS_BYTES <= WIRE_V8_OBJECT_BYTES, "an object has its place");

/* Marks a number as known. Numbers are small integers, whose lowest bit is 0. */
#define HAS_NUMBER 1u

enum optimized_state {
	CODE_UNREADABLE, /* or no code was found */
	CODE_PLAIN,      /* without inlined functions */
	CODE_INLINED,
};

enum positions_state { POSITIONS_UNREAD, POSITIONS_OF_CALLS, POSITIONS_OF_ALL };

/* A literal of the code, and the function that it is. */
struct literal {
	struct v8_inlined_function function;
	bool is_known;
};

struct optimized_code {
	uint64_t start; /* of its instructions; unreadable: the instruction that was searched */
	uint64_t end;
	uint64_t stream; /* the objects, as words */
	uint64_t code;
	uint64_t number; /* of the optimization, in its isolate, with HAS_NUMBER; 0: it has none */
	uint64_t checked_ns;
	uint32_t fingerprint; /* of the compiled function */
	uint8_t state;
	uint8_t positions_state;
	bool is_maglev;
	uint32_t num_inlined;
	uint32_t num_deopts;
	uint32_t num_eager;
	uint32_t exits; /* offset in the code */
	uint32_t num_literals;
	uint32_t own_literal; /* the compiled function; V8_OWN_FUNCTION: not among the literals */
	uint32_t *deopts;     /* for each: index of the translation, and pc */
	struct literal *literals;
	uint8_t *translations;
	uint8_t *positions;
	uint8_t *inlinings;
	uint8_t *safepoints; /* Maglev's table */
	size_t translations_size;
	size_t positions_size;
	size_t inlinings_size;
	size_t safepoints_size;
};

/* A process and its codes, sorted by start. */
struct optimized_owner {
	uint64_t generation;
	uint64_t num_bytes;                /* bytes read */
	uint64_t since_ns;                 /* time of the first lookup */
	uint64_t last_used;                /* number of the last lookup */
	uint64_t stream_map;               /* of all objects with instructions; 0: not seen yet */
	struct wire_v8_source last_source; /* of the function read last, with its hash */
	uint32_t pid;
	uint32_t padding;
	struct optimized_code *items; /* an ARRAY() */
	size_t length;
	size_t capacity;
};
INTERN_TABLE(optimized_owner_table, struct optimized_owner, pid, generation);

/* Pages that one lookup has read. V8 allocates the objects of a code together, and a page costs no more than a word. */
#define PAGE_BYTES 4096u
#define NUM_PAGES  16

struct page_cache {
	uint32_t num_pages;
	uint32_t next; /* replaced next */
	uint64_t addresses[NUM_PAGES];
	uint8_t bytes[NUM_PAGES][PAGE_BYTES];
};

struct v8_inlines {
	struct page_cache pages;
	struct optimized_owner_table owners;
	size_t num_codes;
	size_t num_bytes;
	uint64_t num_questions;
};

/* A lookup. */
struct inlines_search {
	const struct v8_code_source *source;
	const struct v8_code_place *place;
	struct v8_inlines *inlines;
	struct optimized_owner *owner;
	struct v8_memory walk_memory; /* read_for_walk() of this */
};

struct v8_inlines *v8_inlines_new(void)
{
	return calloc(1, sizeof(struct v8_inlines));
}

static size_t get_size(const struct optimized_code *code)
{
	return code->translations_size + code->positions_size + code->inlinings_size +
	       code->safepoints_size + code->num_deopts * 2 * sizeof(*code->deopts) +
	       code->num_literals * sizeof(*code->literals);
}

static void optimized_code_release(struct optimized_code *code)
{
	free(code->deopts);
	free(code->literals);
	free(code->translations);
	free(code->positions);
	free(code->inlinings);
	free(code->safepoints);
}

void v8_inlines_free(struct v8_inlines *inlines)
{
	if (!inlines)
		return;
	array_for_each (&inlines->owners, owner) {
		array_for_each (owner, code)
			optimized_code_release(code);
		array_release(owner);
	}
	optimized_owner_table_release(&inlines->owners);
	free(inlines);
}

static bool read_now(struct inlines_search *search, uint64_t address, void *ret, size_t size)
{
	const struct v8_memory *memory = search->source->memory;

	search->owner->num_bytes += size + READ_COST;
	return !memory->read(memory->context, address, ret, size);
}

/* Later reads see the memory as it is now. */
static void forget_pages(struct inlines_search *search)
{
	search->inlines->pages.num_pages = search->inlines->pages.next = 0;
}

/* The page at an address; NULL: not all of it can be read. */
static const uint8_t *get_page(struct inlines_search *search, uint64_t address)
{
	struct page_cache *pages = &search->inlines->pages;
	uint32_t number = pages->next;

	for (uint32_t i = 0; i < pages->num_pages; i++)
		if (pages->addresses[i] == address)
			return pages->bytes[i];
	/* A failed read may have written a part of it. */
	pages->addresses[number] = UINT64_MAX;
	if (!read_now(search, address, pages->bytes[number], PAGE_BYTES))
		return NULL;
	pages->addresses[number] = address;
	pages->next = (number + 1) % NUM_PAGES;
	if (pages->num_pages < NUM_PAGES)
		pages->num_pages++;
	return pages->bytes[number];
}

static bool read_bytes(struct inlines_search *search, uint64_t address, void *ret, size_t size)
{
	if (size > PAGE_BYTES || address > UINT64_MAX - 2 * PAGE_BYTES)
		return read_now(search, address, ret, size);
	for (size_t done = 0; done < size;) {
		size_t offset = (address + done) % PAGE_BYTES;
		size_t rest = PAGE_BYTES - offset;
		const uint8_t *page = get_page(search, address + done - offset);

		if (!page)
			return read_now(search, address, ret, size);
		if (rest > size - done)
			rest = size - done;
		memcpy((uint8_t *)ret + done, page + offset, rest);
		done += rest;
	}
	return true;
}

static int read_for_walk(void *search, uint64_t address, void *ret, size_t size)
{
	return read_bytes(search, address, ret, size) ? 0 : -EFAULT;
}

static bool is_object(uint64_t word)
{
	return (word & 3) == 1;
}

static bool read_word(struct inlines_search *search, uint64_t address, uint64_t *ret)
{
	return read_bytes(search, address, ret, sizeof(*ret));
}

/* The value of a small integer; -1: negative, or another word. */
static int64_t get_integer(uint64_t word)
{
	return word << 32 || word >> 63 ? -1 : (int64_t)(word >> 32);
}

static bool read_long(struct inlines_search *search, uint64_t address, void *ret, size_t size)
{
	for (size_t at = 0; at < size; at += READ_BYTES_MAX) {
		size_t rest = size - at;

		if (!read_bytes(search, address + at, (uint8_t *)ret + at,
				rest < READ_BYTES_MAX ? rest : READ_BYTES_MAX))
			return false;
	}
	return true;
}

/* Read the items of an array. The caller frees them. Returns 0, -ENOENT or -ENOMEM. */
static int read_array(struct inlines_search *search, uint64_t array, size_t item_bytes,
		      size_t max_items, void *ret_items, size_t *ret_num)
{
	uint64_t head[ARRAY_HEAD_BYTES / 8];
	int64_t num;
	void *items;

	if (!is_object(array) || !read_bytes(search, array - 1, head, sizeof(head)))
		return -ENOENT;
	num = get_integer(head[1]);
	if (num < 0 || (uint64_t)num > max_items)
		return -ENOENT;
	items = malloc((size_t)num * item_bytes + 1);
	if (!items)
		return -ENOMEM;
	if (!read_long(search, array - 1 + ARRAY_HEAD_BYTES, items, (size_t)num * item_bytes)) {
		free(items);
		return -ENOENT;
	}
	memcpy(ret_items, &items, sizeof(items));
	*ret_num = (size_t)num;
	return 0;
}

static int read_byte_array(struct inlines_search *search, uint64_t array, uint8_t **ret,
			   size_t *ret_size)
{
	return read_array(search, array, 1, ARRAY_BYTES_MAX, ret, ret_size);
}

/* ---- finding code ---- */

/* The fields of a code object, or of the one object that is both. */
struct code_fields {
	uint64_t stream;
	uint64_t code;
	uint8_t bytes[FIELDS_BYTES];
};

bool v8_code_layout_is_valid(const struct v8_code_layout *layout)
{
	const uint8_t offsets[] = {layout->code_start, layout->code_size, layout->code_flags,
				   layout->code_deopt_data, layout->code_positions};
	const unsigned int words[] = {layout->num_inlined,     layout->literals,
				      layout->optimization_id, layout->shared,
				      layout->inlinings,       layout->exits + 2u};

	for (size_t i = 0; i < ARRAY_LENGTH(offsets); i++)
		if (offsets[i] > FIELDS_BYTES - sizeof(uint64_t))
			return false;
	for (size_t i = 0; i < ARRAY_LENGTH(words); i++)
		if (words[i] >= layout->first_deopt)
			return false;
	return layout->exit_bytes && layout->translations <= V8_TRANSLATIONS_BYTECODE;
}

static uint64_t get_field(const struct code_fields *fields, size_t offset)
{
	uint64_t word;

	memcpy(&word, fields->bytes + offset, sizeof(word));
	return word;
}

static uint32_t get_half(const struct code_fields *fields, size_t offset)
{
	uint32_t half;

	memcpy(&half, fields->bytes + offset, sizeof(half));
	return half;
}

/* Whether code starts there. head: the first two words of its object */
static bool read_fields(struct inlines_search *search, uint64_t start, const uint64_t head[2],
			struct code_fields *ret)
{
	const struct v8_code_layout *layout = search->source->code;

	ret->stream = start - layout->stream_bytes + 1;
	ret->code = layout->stream_code ? head[1] : ret->stream;
	return is_object(ret->code) &&
	       read_bytes(search, ret->code - 1, ret->bytes, sizeof(ret->bytes)) &&
	       (!layout->code_start || get_field(ret, layout->code_start) == start);
}

/* Whether a word is the map of objects with instructions. */
static bool is_stream_map(struct inlines_search *search, uint64_t map)
{
	const struct v8_code_source *source = search->source;
	uint16_t type;

	if (!is_object(map) || map >> 48)
		return false;
	if (search->owner->stream_map)
		return map == search->owner->stream_map;
	return read_bytes(search, map - 1 + source->layout->map_type, &type, sizeof(type)) &&
	       type == source->code->stream_type;
}

/* A part of the memory before an instruction. */
struct window {
	uint64_t start;
	size_t size;
	uint8_t *bytes; /* READ_BYTES_MAX */
};

/* The head of code that starts there, if it is in the window. */
static bool get_head(const struct window *window, uint64_t start, uint32_t stream_bytes,
		     uint64_t ret[2])
{
	uint64_t object = start - stream_bytes;

	if (object < window->start || object + 16 > window->start + window->size)
		return false;
	memcpy(ret, window->bytes + (object - window->start), 16);
	return true;
}

/* Search the window for the start of code, from an address on downwards. */
static bool search_window(struct inlines_search *search, const struct window *window, uint64_t from,
			  uint32_t *num_candidates, struct code_fields *ret, uint64_t *ret_start)
{
	const struct v8_code_layout *layout = search->source->code;
	uint64_t head[2];

	for (uint64_t start = from; get_head(window, start, layout->stream_bytes, head);
	     start -= CODE_ALIGNMENT) {
		if (!is_object(head[0]) || head[0] >> 48)
			continue;
		if (++*num_candidates > CANDIDATES_MAX)
			return false;
		if (!is_stream_map(search, head[0]) || !read_fields(search, start, head, ret))
			continue;
		search->owner->stream_map = head[0];
		*ret_start = start;
		return true;
	}
	return false;
}

/* The code that an instruction is in. Returns 0, -ENOENT or -ENOMEM. */
static int find_code(struct inlines_search *search, struct code_fields *ret, uint64_t *ret_start)
{
	const struct v8_code_layout *layout = search->source->code;
	uint64_t pc = search->place->pc - search->place->is_call;
	uint64_t from = pc & ~(uint64_t)(CODE_ALIGNMENT - 1);
	uint64_t end = from - layout->stream_bytes + 16;
	struct window window = {.size = FIRST_BYTES};
	_cleanup_free_ uint8_t *bytes = malloc(READ_BYTES_MAX);
	uint32_t num_candidates = 0;

	if (!bytes)
		return -ENOMEM;
	window.bytes = bytes;
	while (pc - from < CODE_BYTES_MAX && end > READ_BYTES_MAX) {
		/* Code has no unreadable parts. */
		window.start = (end - 1) & ~(uint64_t)(FIRST_BYTES - 1);
		if (window.size > FIRST_BYTES)
			window.start -= window.size - FIRST_BYTES;
		while (!read_bytes(search, window.start, bytes, end - window.start)) {
			if (window.size == FIRST_BYTES)
				return -ENOENT;
			window.size = FIRST_BYTES;
			window.start = (end - 1) & ~(uint64_t)(FIRST_BYTES - 1);
		}
		window.size = end - window.start;
		if (search_window(search, &window, from, &num_candidates, ret, ret_start))
			return 0;
		if (num_candidates > CANDIDATES_MAX)
			return -ENOENT;
		/* Go on with the first head that starts before the window. */
		while (from - layout->stream_bytes >= window.start)
			from -= CODE_ALIGNMENT;
		end = from - layout->stream_bytes + 16;
		window.size = READ_BYTES_MAX / 4;
	}
	return -ENOENT;
}

/* ---- reading the description ---- */

static void start_walk(const struct inlines_search *search, struct memory_walk *ret)
{
	ret->memory = &search->walk_memory;
	v8_walk_start(&ret->walk, search->source->layout);
}

/* The fingerprint of a function; 0: the word is not a function. */
static uint32_t read_fingerprint(struct inlines_search *search, uint64_t shared)
{
	struct memory_walk walk;

	start_walk(search, &walk);
	if (!is_object(shared) ||
	    v8_read_object(&walk.walk, shared, search->source->layout->shared_bytes) ||
	    v8_is_shared(&walk.walk) <= 0)
		return 0;
	return v8_get_fingerprint(&walk.walk);
}

/* The words of the deoptimization data of optimized code. */
struct deopt_data {
	uint64_t *words;
	size_t num_words;
};

static int read_deopt_data(struct inlines_search *search, const struct code_fields *fields,
			   struct deopt_data *ret)
{
	const struct v8_code_layout *layout = search->source->code;
	int err = read_array(search, get_field(fields, layout->code_deopt_data), 8, DEOPT_WORDS_MAX,
			     &ret->words, &ret->num_words);

	if (err)
		return err;
	/* Code that was invalidated has an empty array. */
	if (ret->num_words < layout->first_deopt ||
	    (ret->num_words - layout->first_deopt) % 3 != 0) {
		free(ret->words);
		return -ENOENT;
	}
	return 0;
}

static uint64_t get_shared(struct inlines_search *search, const uint64_t *words)
{
	const struct v8_code_layout *layout = search->source->code;
	uint64_t shared = words[layout->shared];

	if (!layout->is_shared_wrapped)
		return shared;
	return is_object(shared) && read_word(search, shared - 1 + 8, &shared) ? shared : 0;
}

/* The exits of eager deoptimizations precede those of lazy ones. Both are in the order of the deoptimizations. */
static bool take_deopts(struct inlines_search *search, const struct deopt_data *data,
			struct optimized_code *code)
{
	const struct v8_code_layout *layout = search->source->code;
	const uint64_t *deopts = data->words + layout->first_deopt;
	int64_t exits = get_integer(data->words[layout->exits]);
	int64_t num_eager = get_integer(data->words[layout->exits + 1]);
	int64_t num_lazy = get_integer(data->words[layout->exits + 2]);

	code->num_deopts = (uint32_t)((data->num_words - layout->first_deopt) / 3);
	if (exits < 0 || num_eager < 0 || num_lazy < 0 ||
	    (uint64_t)num_eager + (uint64_t)num_lazy != code->num_deopts)
		return false;
	code->exits = (uint32_t)exits;
	code->num_eager = (uint32_t)num_eager;
	code->deopts = calloc(code->num_deopts + 1, 2 * sizeof(*code->deopts));
	if (!code->deopts)
		return false;
	for (uint32_t i = 0; i < code->num_deopts; i++) {
		code->deopts[2 * (size_t)i] = (uint32_t)get_integer(deopts[3 * (size_t)i + 1]);
		code->deopts[2 * (size_t)i + 1] = (uint32_t)get_integer(deopts[3 * (size_t)i + 2]);
	}
	return true;
}

/* Read the description of code with inlined functions. Returns 0, -ENOENT or -ENOMEM. */
static int read_inlined(struct inlines_search *search, const struct code_fields *fields,
			const struct deopt_data *data, uint64_t shared, struct optimized_code *code)
{
	const struct v8_code_layout *layout = search->source->code;
	_cleanup_free_ uint64_t *literals = NULL;
	size_t num_literals;
	int err = read_byte_array(search, data->words[0], &code->translations,
				  &code->translations_size);

	if (err)
		return err;
	err = read_byte_array(search, data->words[layout->inlinings], &code->inlinings,
			      &code->inlinings_size);
	if (err)
		return err;
	err = read_byte_array(search, get_field(fields, layout->code_positions), &code->positions,
			      &code->positions_size);
	if (err)
		return err;
	err = read_array(search, data->words[layout->literals], 8, LITERALS_MAX, &literals,
			 &num_literals);
	if (err)
		return err;
	if (num_literals < code->num_inlined || !take_deopts(search, data, code))
		return -ENOENT;
	code->literals = calloc(num_literals + 1, sizeof(*code->literals));
	if (!code->literals)
		return -ENOMEM;
	code->num_literals = (uint32_t)num_literals;
	code->own_literal = V8_OWN_FUNCTION;
	for (uint32_t i = 0; i < num_literals && code->own_literal == V8_OWN_FUNCTION; i++)
		if (literals[i] == shared)
			code->own_literal = i;
	return 0;
}

/* Read the table after the instructions of Maglev. */
static int read_safepoints(struct inlines_search *search, const struct code_fields *fields,
			   struct optimized_code *code)
{
	const struct v8_code_layout *layout = search->source->code;
	uint32_t size = get_half(fields, layout->code_size + 4u);

	if (!code->is_maglev || !layout->safepoint_head)
		return 0;
	if (size > ARRAY_BYTES_MAX)
		return -ENOENT;
	code->safepoints = malloc(size + 1);
	if (!code->safepoints)
		return -ENOMEM;
	code->safepoints_size = size;
	return read_long(search, code->end, code->safepoints, size) ? 0 : -ENOENT;
}

/* Whether the code is still at its place. ret: its fields now */
static bool is_there(struct inlines_search *search, const struct optimized_code *code,
		     struct code_fields *ret)
{
	const struct v8_code_layout *layout = search->source->code;
	uint64_t number;
	uint64_t array;
	uint64_t head[2];

	forget_pages(search);
	if (!read_bytes(search, code->stream - 1, head, sizeof(head)) ||
	    !is_stream_map(search, head[0]) || !read_fields(search, code->start, head, ret) ||
	    ret->code != code->code || code->start + get_half(ret, layout->code_size) != code->end)
		return false;
	/* Other code has no number. */
	if (!code->number)
		return true;
	array = get_field(ret, layout->code_deopt_data);
	return is_object(array) &&
	       read_word(search, array - 1 + ARRAY_HEAD_BYTES + 8ull * layout->optimization_id,
			 &number) &&
	       (number | HAS_NUMBER) == code->number;
}

/* Whether the words that refer to all the rest of the description are still the same. */
static bool is_unchanged(struct inlines_search *search, const struct optimized_code *code,
			 const struct code_fields *before, const uint64_t *words)
{
	const struct v8_code_layout *layout = search->source->code;
	uint64_t array = get_field(before, layout->code_deopt_data);
	uint64_t after_words[UINT8_MAX];
	struct code_fields after;

	return is_there(search, code, &after) &&
	       get_field(&after, layout->code_deopt_data) == array &&
	       get_field(&after, layout->code_positions) ==
		       get_field(before, layout->code_positions) &&
	       read_bytes(search, array - 1 + ARRAY_HEAD_BYTES, after_words,
			  8u * layout->first_deopt) &&
	       !memcmp(after_words, words, 8u * layout->first_deopt);
}

/* Read the description of code, and set its state. Returns 0 or -ENOMEM. */
static int read_description(struct inlines_search *search, const struct code_fields *fields,
			    struct optimized_code *code)
{
	const struct v8_code_layout *layout = search->source->code;
	uint8_t kind = get_half(fields, layout->code_flags) & 0xf;
	struct deopt_data data;
	_cleanup_free_ uint64_t *words = NULL;
	uint64_t own_shared;
	int64_t num_inlined;
	int err;

	code->is_maglev = kind == layout->kind_maglev;
	if (!code->is_maglev && kind != layout->kind_turbofan) {
		code->state = CODE_PLAIN;
		return 0;
	}
	code->state = CODE_UNREADABLE;
	err = read_deopt_data(search, fields, &data);
	if (err)
		return err == -ENOENT ? 0 : err;
	words = data.words;
	num_inlined = get_integer(words[layout->num_inlined]);
	code->number = words[layout->optimization_id] | HAS_NUMBER;
	own_shared = get_shared(search, words);
	code->fingerprint = read_fingerprint(search, own_shared);
	if (num_inlined < 0 || num_inlined > LITERALS_MAX || !code->fingerprint)
		return 0;
	code->num_inlined = (uint32_t)num_inlined;
	if (!num_inlined) {
		code->state =
			is_unchanged(search, code, fields, words) ? CODE_PLAIN : CODE_UNREADABLE;
		return 0;
	}
	err = read_inlined(search, fields, &data, own_shared, code);
	if (err)
		return err == -ENOENT ? 0 : err;
	err = read_safepoints(search, fields, code);
	if (err)
		return err == -ENOENT ? 0 : err;
	if (is_unchanged(search, code, fields, words))
		code->state = CODE_INLINED;
	return 0;
}

/* ---- known codes ---- */

/* The number of codes that start at or before an address. */
static size_t count_before(const struct optimized_owner *owner, uint64_t pc)
{
	size_t low = 0;
	size_t high = owner->length;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (owner->items[middle].start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void forget(struct v8_inlines *inlines, struct optimized_owner *owner, size_t number)
{
	struct optimized_code *code = &owner->items[number];

	inlines->num_bytes -= get_size(code);
	inlines->num_codes--;
	optimized_code_release(code);
	owner->length--;
	memmove(code, code + 1, (owner->length - number) * sizeof(*code));
}

/* Forget the codes of the process whose last lookup is the oldest. */
static void forget_oldest(struct v8_inlines *inlines)
{
	struct optimized_owner *oldest = NULL;

	array_for_each (&inlines->owners, owner)
		if (owner->length && (!oldest || owner->last_used < oldest->last_used))
			oldest = owner;
	while (oldest && oldest->length)
		forget(inlines, oldest, oldest->length - 1);
}

/* Keep code in place of the codes that it overlaps. Takes ownership of its arrays. Returns 0, -ENOENT (too large) or -ENOMEM. */
static int keep(struct inlines_search *search, struct optimized_code *code,
		struct optimized_code **ret)
{
	struct v8_inlines *inlines = search->inlines;
	struct optimized_owner *owner = search->owner;
	size_t size = get_size(code);
	size_t number = count_before(owner, code->start);

	while (number && owner->items[number - 1].end > code->start)
		forget(inlines, owner, --number);
	while (number < owner->length && owner->items[number].start < code->end)
		forget(inlines, owner, number);
	if (size > V8_INLINES_BYTES_MAX)
		return -ENOENT;
	while (inlines->num_codes >= V8_INLINES_CODES_MAX ||
	       inlines->num_bytes + size > V8_INLINES_BYTES_MAX) {
		forget_oldest(inlines);
		number = count_before(owner, code->start);
	}
	if (array_reserve(owner, owner->length + 1))
		return -ENOMEM;
	memmove(owner->items + number + 1, owner->items + number,
		(owner->length - number) * sizeof(*code));
	owner->length++;
	inlines->num_codes++;
	inlines->num_bytes += size;
	owner->items[number] = *code;
	*code = (struct optimized_code){0};
	*ret = &owner->items[number];
	return 0;
}

/* Find and read the code of an instruction. Returns 0 or -ENOMEM. */
static int read_code(struct inlines_search *search, struct optimized_code **ret)
{
	uint64_t pc = search->place->pc - search->place->is_call;
	struct optimized_code code = {
		.start = pc, .end = pc + 1, .checked_ns = clock_now_ns(), .state = CODE_UNREADABLE};
	struct code_fields fields;
	uint64_t start;
	uint32_t size = 0;
	int err;

	err = find_code(search, &fields, &start);
	if (!err)
		size = get_half(&fields, search->source->code->code_size);
	if (size && size <= CODE_BYTES_MAX && pc - start < size) {
		code.start = start;
		code.end = start + size;
		code.stream = fields.stream;
		code.code = fields.code;
		err = read_description(search, &fields, &code);
	}
	if (!err || err == -ENOENT)
		err = keep(search, &code, ret);
	optimized_code_release(&code);
	return err;
}

/* The readable code of an instruction, if it is of the frame's function. Returns 0, -ENOENT or -ENOMEM. */
static int get_code(struct inlines_search *search, struct optimized_code **ret)
{
	uint64_t pc = search->place->pc - search->place->is_call;
	struct optimized_owner *owner = search->owner;
	size_t number = count_before(owner, pc);
	struct optimized_code *code = number ? &owner->items[number - 1] : NULL;
	uint64_t now_ns = clock_now_ns();
	struct code_fields fields;
	int err;

	if (code && pc >= code->end)
		code = NULL;
	if (code && now_ns - code->checked_ns > CHECK_NS) {
		code->checked_ns = now_ns;
		if (code->state == CODE_UNREADABLE || !is_there(search, code, &fields)) {
			forget(search->inlines, owner, number - 1);
			code = NULL;
		}
	}
	/* It is other code, or the collector has moved the function. */
	if (code && code->fingerprint && code->fingerprint != search->place->fingerprint) {
		forget(search->inlines, owner, number - 1);
		code = NULL;
	}
	if (!code) {
		err = read_code(search, &code);
		if (err)
			return err;
	}
	if (code->state == CODE_UNREADABLE ||
	    (code->fingerprint && code->fingerprint != search->place->fingerprint))
		return -ENOENT;
	*ret = code;
	return 0;
}

/* ---- the functions at an instruction ---- */

/* Numbers of literals, innermost first. */
struct literal_chain {
	uint32_t num;
	uint32_t literals[V8_INLINES_DEPTH_MAX + 1];
};

static struct v8_byte_array get_bytes(const uint8_t *bytes, size_t size)
{
	return (struct v8_byte_array){bytes, size};
}

/* The lazy deoptimization of the call that returns there. Returns whether there is one. */
static bool find_deopt(const struct inlines_search *search, const struct optimized_code *code,
		       uint32_t pc, uint32_t *ret)
{
	const struct v8_byte_array safepoints = get_bytes(code->safepoints, code->safepoints_size);

	if (code->is_maglev)
		return !v8_maglev_safepoint_find(&safepoints, search->source->code->safepoint_head,
						 pc, ret) &&
		       *ret < code->num_deopts;
	for (uint32_t i = code->num_eager; i < code->num_deopts; i++) {
		if (code->deopts[2 * (size_t)i + 1] != pc)
			continue;
		*ret = i;
		return true;
	}
	return false;
}

/*
 * The deoptimizations of an instruction among the exits. An exit is a call, which returns to the start of the next exit. If code is no
 * longer valid, its calls return to their exits as well. A return address may belong to both.
 */
static uint32_t find_exits(const struct inlines_search *search, const struct optimized_code *code,
			   uint32_t offset, uint32_t ret[2])
{
	uint32_t exit_bytes = search->source->code->exit_bytes;
	uint32_t number = (offset - code->exits) / exit_bytes;
	uint32_t num = 0;

	if (offset < code->exits || number > code->num_deopts)
		return 0;
	if (!search->place->is_call) {
		ret[0] = number;
		return number < code->num_deopts;
	}
	if ((offset - code->exits) % exit_bytes)
		return 0;
	if (number)
		ret[num++] = number - 1;
	if (number >= code->num_eager && number < code->num_deopts)
		ret[num++] = number;
	return num;
}

/* Uses the translation, without its outermost function, which must be the compiled one. */
static int find_by_deopt(const struct inlines_search *search, const struct optimized_code *code,
			 uint32_t deopt, struct literal_chain *ret)
{
	const struct v8_byte_array translations =
		get_bytes(code->translations, code->translations_size);
	uint32_t literals[V8_INLINES_DEPTH_MAX + 1];
	uint32_t num;

	if (v8_translation_read(search->source->code->translations, &translations,
				code->deopts[2 * (size_t)deopt], literals, ARRAY_LENGTH(literals),
				&num) ||
	    !num || literals[0] != code->own_literal)
		return -ENOENT;
	ret->num = num - 1;
	for (uint32_t i = 0; i + 1 < num; i++)
		ret->literals[i] = literals[num - 1 - i];
	return 0;
}

/* Check that the positions are those of all instructions. Returns 0, -ENOENT (they are not) or -ENOMEM. */
static int check_positions(struct inlines_search *search, struct optimized_code *code)
{
	const struct v8_byte_array positions = get_bytes(code->positions, code->positions_size);
	struct v8_byte_array instructions = {.size = code->end - code->start};
	_cleanup_free_ uint8_t *bytes = NULL;

	if (code->positions_state == POSITIONS_UNREAD) {
		struct code_fields fields;

		bytes = malloc(instructions.size + 1);
		if (!bytes)
			return -ENOMEM;
		if (!read_long(search, code->start, bytes, instructions.size) ||
		    !is_there(search, code, &fields))
			return -ENOENT;
		instructions.bytes = bytes;
		code->positions_state = v8_positions_are_detailed(&positions, &instructions)
						? POSITIONS_OF_ALL
						: POSITIONS_OF_CALLS;
	}
	return code->positions_state == POSITIONS_OF_ALL ? 0 : -ENOENT;
}

/* Read the instructions up to the exits. The caller frees them. Returns 0, -ENOENT or -ENOMEM. */
static int read_instructions(struct inlines_search *search, const struct optimized_code *code,
			     uint8_t **ret, size_t *ret_size)
{
	size_t size = code->end - code->start;
	uint8_t *bytes;

	/* Tables follow the exits. */
	if (code->exits < size)
		size = code->exits;
	bytes = malloc(size + 1);
	if (!bytes)
		return -ENOMEM;
	if (!read_long(search, code->start, bytes, size)) {
		free(bytes);
		return -ENOENT;
	}
	*ret = bytes;
	*ret_size = size;
	return 0;
}

/*
 * The inlining of an instruction. An instruction without a position has that of the instruction before. The first one of a block has that
 * of the only jump to the block: the compiler moves code that runs seldom behind the rest of the function.
 *
 * end      a return address, or the start of the instruction
 * is_call  it is a return address
 */
static int find_inlining(struct inlines_search *search, const struct optimized_code *code,
			 uint32_t end, bool is_call, int32_t *ret)
{
	const struct v8_byte_array positions = get_bytes(code->positions, code->positions_size);
	_cleanup_free_ uint8_t *bytes = NULL;
	struct v8_byte_array instructions = {0};
	int err = read_instructions(search, code, &bytes, &instructions.size);

	if (err)
		return err;
	instructions.bytes = bytes;
	for (unsigned int i = 0; i < JUMPS_MAX; i++) {
		uint32_t source;
		uint32_t start;

		if (v8_positions_find(&positions, end - is_call, &start, ret) ||
		    v8_code_find_source(&instructions, start, end, &source))
			return -ENOENT;
		if (source == end)
			return 0;
		end = source;
		is_call = false;
	}
	return -ENOENT;
}

static int find_by_position(struct inlines_search *search, struct optimized_code *code,
			    uint32_t offset, struct literal_chain *ret)
{
	const struct v8_byte_array inlinings = get_bytes(code->inlinings, code->inlinings_size);
	int32_t inlining;
	int err = check_positions(search, code);

	if (err)
		return err;
	err = find_inlining(search, code, offset, search->place->is_call, &inlining);
	if (err)
		return err;
	for (ret->num = 0; inlining != V8_NOT_INLINED; ret->num++)
		if (ret->num >= V8_INLINES_DEPTH_MAX ||
		    v8_inlining_get(&inlinings, inlining, &ret->literals[ret->num], &inlining))
			return -ENOENT;
	return 0;
}

/* Uses one deoptimization, or two with the same functions. */
static int find_by_exits(const struct inlines_search *search, const struct optimized_code *code,
			 const uint32_t *deopts, uint32_t num_deopts, struct literal_chain *ret)
{
	struct literal_chain other;
	int err = find_by_deopt(search, code, deopts[0], ret);

	if (err || num_deopts == 1)
		return err;
	err = find_by_deopt(search, code, deopts[1], &other);
	if (err)
		return err;
	return ret->num == other.num && !memcmp(ret->literals, other.literals,
						ret->num * sizeof(ret->literals[0]))
		       ? 0
		       : -ENOENT;
}

static int find_literals(struct inlines_search *search, struct optimized_code *code,
			 struct literal_chain *ret)
{
	const struct v8_code_place *place = search->place;
	uint32_t offset = (uint32_t)(place->pc - code->start);
	uint32_t deopts[2];
	uint32_t num_exits;

	ret->num = 0;
	if (code->state == CODE_PLAIN)
		return 0;
	num_exits = find_exits(search, code, offset, deopts);
	if (num_exits)
		return find_by_exits(search, code, deopts, num_exits, ret);
	/* Calls without a deoptimization do not call JavaScript. */
	if (place->is_call && find_deopt(search, code, offset, &deopts[0]))
		return find_by_deopt(search, code, deopts[0], ret);
	return find_by_position(search, code, offset, ret);
}

/* Read the word of a literal. */
static bool read_literal(struct inlines_search *search, const struct optimized_code *code,
			 uint32_t literal, uint64_t *ret)
{
	const struct v8_code_layout *layout = search->source->code;
	struct code_fields fields;
	uint64_t literals;

	if (!is_there(search, code, &fields))
		return false;
	/* is_there() has checked that this is an object. */
	return read_word(search,
			 get_field(&fields, layout->code_deopt_data) - 1 + ARRAY_HEAD_BYTES +
				 8ull * layout->literals,
			 &literals) &&
	       is_object(literals) &&
	       read_word(search, literals - 1 + ARRAY_HEAD_BYTES + 8ull * literal, ret);
}

/* Hash a source. Most functions have the source of the function before. */
static void take_source_hash(struct inlines_search *search, struct v8_walk *walk,
			     struct wire_v8_source *source)
{
	struct wire_v8_source *last = &search->owner->last_source;

	if (source->string && source->string == last->string && source->map == last->map &&
	    source->characters == last->characters && source->length == last->length) {
		source->hash = last->hash;
		source->words = last->words;
		return;
	}
	for (wire_u32 i = 0; source->string && i < WIRE_V8_SOURCE_WORDS; i++)
		(void)v8_step_source(walk, i, source);
	if (source->string)
		*last = *source;
}

/* Read a function as the sampling program does, without its line: v8_sources_get_line() counts it. */
static bool read_function(struct inlines_search *search, uint64_t shared,
			  struct wire_v8_function *ret)
{
	struct memory_walk memory_walk;
	struct v8_walk *walk = &memory_walk.walk;

	start_walk(search, &memory_walk);
	if (!is_object(shared) ||
	    v8_read_object(walk, shared, search->source->layout->shared_bytes) ||
	    v8_is_shared(walk) <= 0 || v8_read_function(walk, shared, ret))
		return false;
	for (int i = 0; i < V8_MAX_NAME_STEPS; i++)
		if (v8_step_name(walk, ret))
			break;
	ret->has_more |= walk->num_pending > 0;
	take_source_hash(search, walk, &ret->source);
	return true;
}

/* The function of a literal. Returns 0, -ENOENT or -ENOMEM. */
static int get_function(struct inlines_search *search, struct optimized_code *code, uint32_t number,
			struct v8_inlined_function *ret)
{
	const struct v8_code_source *source = search->source;
	struct wire_v8_function record = {.type = WIRE_RUNTIME_CODE,
					  .runtime = WIRE_RUNTIME_V8,
					  .pid = search->place->pid,
					  .generation = search->place->generation};
	struct literal *literal;
	uint64_t shared;
	uint64_t after;
	int err;

	if (number == V8_OWN_FUNCTION || number == code->own_literal) {
		*ret = (struct v8_inlined_function){.address = search->place->function,
						    .fingerprint = search->place->fingerprint};
		return 0;
	}
	if (number >= code->num_literals)
		return -ENOENT;
	literal = &code->literals[number];
	if (!literal->is_known) {
		if (!read_literal(search, code, number, &shared) ||
		    !read_function(search, shared, &record) ||
		    !read_literal(search, code, number, &after) || shared != after)
			return -ENOENT;
		err = source->add_function(source->context, &record);
		if (err)
			return err;
		literal->function = (struct v8_inlined_function){.address = record.shared,
								 .fingerprint = record.fingerprint};
		literal->is_known = true;
	}
	*ret = literal->function;
	return 0;
}

/* Returns 0, -ENOENT (there are too many) or -ENOMEM. */
static int find_owner(struct v8_inlines *inlines, const struct v8_code_place *place,
		      struct optimized_owner **ret)
{
	const struct optimized_owner owner = {
		.pid = place->pid, .generation = place->generation, .since_ns = clock_now_ns()};
	uint32_t number = optimized_owner_table_find(&inlines->owners, &owner);

	if (number == HASH_INDEX_NONE) {
		if (inlines->owners.length >= V8_INLINES_PROCESSES_MAX)
			return -ENOENT;
		if (optimized_owner_table_add(&inlines->owners, &owner, &number))
			return -ENOMEM;
	}
	*ret = &inlines->owners.items[number];
	(*ret)->last_used = inlines->num_questions++;
	return 0;
}

static bool has_read_enough(const struct optimized_owner *owner)
{
	uint64_t seconds = (clock_now_ns() - owner->since_ns) / 1000000000;

	return owner->num_bytes > V8_INLINES_READ_MAX + seconds * V8_INLINES_READ_PER_SECOND;
}

int v8_inlines_find(struct v8_inlines *inlines, const struct v8_code_source *source,
		    const struct v8_code_place *place, struct v8_inlined_chain *ret)
{
	struct inlines_search search = {.source = source,
					.place = place,
					.inlines = inlines,
					.walk_memory = {read_for_walk, &search}};
	struct literal_chain chain;
	struct optimized_code *code;
	int err;

	if (!source->code->is_known)
		return -ENOENT;
	err = find_owner(inlines, place, &search.owner);
	if (err)
		return err;
	if (has_read_enough(search.owner))
		return -ENOENT;
	forget_pages(&search);
	err = get_code(&search, &code);
	if (err)
		return err;
	err = find_literals(&search, code, &chain);
	if (err)
		return err;
	for (uint32_t i = 0; i < chain.num; i++) {
		err = get_function(&search, code, chain.literals[i], &ret->functions[i]);
		if (err)
			return err;
	}
	ret->num_functions = chain.num;
	return 0;
}
