/*
 * What was inlined into compiled code, and methods by their address, in a memory that is made for it.
 */
#include "runtime/hotspot_scopes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/text.h"
#include "hotspot_layouts.h"
#include "unsigned5_writer.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

/* All that is mapped, and what lies where in it. */
#define BASE       0x7f2c18000000
#define SIZE       (64u << 10)
#define BLOB       (BASE + 0x1000)
#define CODE       (BLOB + 0x200)
#define CODE_END   (BLOB + 0x7e0)
#define METADATA   (BLOB + 0x800)
#define IMMUTABLE  (BASE + 0x3000) /* of the blob itself, where there is no such part */
#define PC_DESCS   (IMMUTABLE + 0x40)
#define SCOPES     (BASE + 0x5000)
#define METHODS    (BASE + 0x8000) /* they are not read: their addresses */
#define COMPILE_ID 77

/* Of a method that is read. */
#define METHOD 0x7f2c18008000
#define CONST  (BASE + 0x9000)
#define POOL   (BASE + 0xa000)
#define CLASS  (BASE + 0xb000)
#define SYMBOL (BASE + 0xc000) /* and another one each 0x200 */

struct scene {
	struct hotspot_layout layout;
	struct hotspot_memory memory;
	uint8_t bytes[SIZE];
	size_t size;   /* what is mapped of it */
	bool goes_on;  /* behind it as well */
	size_t behind; /* bytes that were read there */
	unsigned int num_reads;
	unsigned int fails_at;   /* the read that does; 0: none */
	unsigned int changes_at; /* from this read on there is other code; 0: none */
	size_t num_pc_descs;
	struct unsigned5_writer scopes;
	struct hotspot_scope_chain chain;
};

static void put(struct scene *scene, uint64_t address, uint64_t value, size_t size)
{
	assert_true(address >= BASE && address + size <= BASE + SIZE);
	memcpy(scene->bytes + (address - BASE), &value, size);
}

static int read_scene(void *context, uint64_t address, void *ret, size_t size)
{
	struct scene *scene = context;

	assert_in_range(size, 1, 64u << 10);
	if (++scene->num_reads == scene->fails_at)
		return -EIO;
	if (scene->num_reads == scene->changes_at)
		put(scene, BLOB + scene->layout.wire.nmethod_compile_id, COMPILE_ID + 1, 4);
	if (scene->goes_on && address - BASE + size > scene->size) {
		memset(ret, 0x90, size);
		scene->behind += size;
		return 0;
	}
	if (address < BASE || address - BASE > scene->size || size > scene->size - (address - BASE))
		return -EFAULT;
	memcpy(ret, scene->bytes + (address - BASE), size);
	return 0;
}

static uint64_t method(uint32_t number)
{
	return METHODS + 0x40 * number;
}

/* The end of PcDescs follows from how many there are. */
static void put_parts(struct scene *scene)
{
	const struct hotspot_scopes_layout *layout = &scene->layout.scopes;
	bool is_apart = layout->immutable_data != WIRE_HOTSPOT_NONE;
	uint64_t base = is_apart ? IMMUTABLE : BLOB;

	put(scene, BLOB + scene->layout.wire.blob_code,
	    scene->layout.wire.blob_code_is_offset ? CODE - BLOB : CODE,
	    scene->layout.wire.blob_code_is_offset ? 4 : 8);
	put(scene, BLOB + scene->layout.wire.blob_code_end,
	    scene->layout.wire.blob_code_is_offset ? CODE_END - BLOB : CODE_END,
	    scene->layout.wire.blob_code_is_offset ? 4 : 8);
	put(scene, BLOB + scene->layout.wire.nmethod_compile_id, COMPILE_ID, 4);
	if (is_apart)
		put(scene, BLOB + layout->immutable_data, IMMUTABLE, 8);
	put(scene, BLOB + layout->scopes_pcs, PC_DESCS - base, 4);
	/* Where scopes follow the PcDescs it is said once. */
	if (layout->scopes_pcs_end != layout->scopes_data)
		put(scene, BLOB + layout->scopes_pcs_end,
		    PC_DESCS - base + 16 * scene->num_pc_descs, 4);
	if (is_apart)
		put(scene, BLOB + layout->scopes_data, PC_DESCS - base + 16 * scene->num_pc_descs,
		    4);
	else
		put(scene, BLOB + layout->scopes_data,
		    layout->scopes_data_size == 8 ? SCOPES : SCOPES - BLOB,
		    layout->scopes_data_size);
	if (layout->mutable_data != WIRE_HOTSPOT_NONE) {
		put(scene, BLOB + layout->mutable_data, METADATA - 0x30, 8);
		put(scene, BLOB + layout->relocation_bytes, 0x30, 4);
	} else if (layout->blob_data != WIRE_HOTSPOT_NONE) {
		put(scene, BLOB + layout->blob_data, METADATA - 0x20 - BLOB, 4);
		put(scene, BLOB + layout->metadata, 0x20, layout->metadata_size);
	} else {
		put(scene, BLOB + layout->metadata, METADATA - BLOB, layout->metadata_size);
	}
	memcpy(scene->bytes + ((is_apart ? PC_DESCS + 16 * scene->num_pc_descs : SCOPES) - BASE),
	       scene->scopes.bytes, scene->scopes.length);
}

static void add_pc_desc(struct scene *scene, int32_t pc, uint32_t scope)
{
	uint64_t at = PC_DESCS + 16 * scene->num_pc_descs++;

	put(scene, at, (uint32_t)pc, 4);
	put(scene, at + 4, scope, 4);
	put(scene, at + 8, 0x1234567812345678, 8);
}

/* Returns where it is. */
static uint32_t add_scope(struct scene *scene, uint32_t sender, uint32_t number, uint32_t bytecode)
{
	uint32_t offset = (uint32_t)scene->scopes.length;

	unsigned5_put(&scene->scopes, sender);
	unsigned5_put(&scene->scopes, number);
	unsigned5_put(&scene->scopes, bytecode + 1);
	for (int i = 0; i < 3; i++)
		unsigned5_put(&scene->scopes, 0); /* where its variables are */
	return offset;
}

/* In place of as many instructions that do nothing. */
static void add_code(struct scene *scene, uint64_t offset, size_t size, const void *code)
{
	memcpy(scene->bytes + (CODE - BASE) + offset, code, size);
}

#define CODE_AT(scene, offset, ...)                                     \
	add_code(scene, offset, sizeof((const uint8_t[]){__VA_ARGS__}), \
		 (const uint8_t[]){__VA_ARGS__})

/* Before the first scope is something, as 0 says that there is none. */
static void clear(struct scene *scene, size_t number)
{
	memset(scene, 0, sizeof(*scene));
	scene->layout = hotspot_test_layouts[number];
	scene->memory = (struct hotspot_memory){read_scene, scene};
	scene->size = SIZE;
	scene->scopes.major = scene->layout.major;
	unsigned5_put(&scene->scopes, 0);
	memset(scene->bytes + (CODE - BASE), 0x90, CODE_END - CODE);
	for (uint32_t i = 1; i <= 300; i++)
		put(scene, METADATA + 8 * (i - 1), method(i), 8);
}

/* Method 1 calls others that are inlined: 2 at bytecode 5, which calls 200 at 7; and 3 at 9. */
static void build(struct scene *scene, size_t number)
{
	uint32_t first, second;

	clear(scene, number);
	add_pc_desc(scene, -1, 0);
	add_pc_desc(scene, 12, add_scope(scene, 0, 1, 3));
	first = add_scope(scene, 0, 1, 5);
	add_pc_desc(scene, 40, add_scope(scene, first, 2, 300));
	second = add_scope(scene, first, 2, 7);
	add_pc_desc(scene, 60, add_scope(scene, second, 200, UINT32_MAX));
	add_pc_desc(scene, 70, add_scope(scene, add_scope(scene, 0, 1, 9), 3, 65534));
	add_pc_desc(scene, INT32_MAX, 0);
	put_parts(scene);
}

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct scene));
	assert_non_null(*state);
	build(*state, 0);
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static int find(struct scene *scene, uint64_t pc, bool is_call)
{
	_cleanup_(hotspot_scopes_freep) struct hotspot_scopes *scopes = NULL;
	int err = hotspot_scopes_read(&scene->layout, &scene->memory, BLOB, COMPILE_ID, &scopes);

	assert_true((err != 0) == (scopes == NULL));
	return err ? err : hotspot_scopes_find(scopes, pc, is_call, &scene->chain);
}

static int find_at(struct scene *scene, uint64_t pc)
{
	return find(scene, pc, false);
}

/* scopes: methods and their bytecodes, innermost first, up to a method 0. */
static void expect(struct scene *scene, uint64_t offset, bool is_call, const uint32_t *scopes)
{
	size_t num_scopes = 0;

	assert_int_equal(find(scene, CODE + offset, is_call), 0);
	for (; scopes[2 * num_scopes]; num_scopes++) {
		assert_true(num_scopes < scene->chain.num_scopes);
		assert_int_equal(scene->chain.scopes[num_scopes].method,
				 method(scopes[2 * num_scopes]));
		assert_int_equal(scene->chain.scopes[num_scopes].bytecode,
				 scopes[2 * num_scopes + 1]);
	}
	assert_int_equal(scene->chain.num_scopes, num_scopes);
}

#define EXPECT(scene, offset, ...) expect(scene, offset, false, (const uint32_t[]){__VA_ARGS__, 0})
#define EXPECT_CALL(scene, offset, ...) \
	expect(scene, offset, true, (const uint32_t[]){__VA_ARGS__, 0})

/* What is at the places that build() describes. */
#define AT_12 1, 3
#define AT_40 2, 300, 1, 5
#define AT_60 200, 0, 2, 7, 1, 5
#define AT_70 3, 65534, 1, 9

static void a_call_has_exactly_what_calls(void **state)
{
	struct scene *scene = *state;

	for (size_t i = 0; i < HOTSPOT_TEST_LAYOUTS; i++) {
		build(scene, i);
		EXPECT_CALL(scene, 12, AT_12);
		EXPECT_CALL(scene, 40, AT_40);
		EXPECT_CALL(scene, 60, AT_60);
		EXPECT_CALL(scene, 70, AT_70);
	}
}

/* The JVM does not stop in it, and it returns. */
static void a_call_that_is_not_described_is_as_what_is_behind_it(void **state)
{
	struct scene *scene = *state;

	CODE_AT(scene, 55, 0xeb, 65 - 57);
	EXPECT_CALL(scene, 50, AT_70);
}

static void an_instruction_has_what_comes_next(void **state)
{
	struct scene *scene = *state;

	for (size_t i = 0; i < HOTSPOT_TEST_LAYOUTS; i++) {
		build(scene, i);
		/* It is described itself, as where it may fault. */
		EXPECT(scene, 12, AT_12);
		EXPECT(scene, 0, AT_12);
		EXPECT(scene, 41, AT_60);
		EXPECT(scene, 61, AT_70);
		/* A call of 5 bytes. */
		CODE_AT(scene, 35, 0xe8);
		EXPECT(scene, 13, AT_40);
		EXPECT(scene, 35, AT_40);
	}
}

static void what_is_behind_a_call_is_not_what_calls(void **state)
{
	struct scene *scene = *state;

	CODE_AT(scene, 55, 0xe8, 0, 0, 0, 0);
	EXPECT(scene, 55, AT_60);
	EXPECT(scene, 60, AT_70);
	EXPECT_CALL(scene, 60, AT_60);
	/* Also where a jump leads there. */
	CODE_AT(scene, 45, 0xeb, 60 - 47);
	EXPECT(scene, 42, AT_70);
	/* This is no call, though it has its first byte. */
	CODE_AT(scene, 51, 0xb8, 0, 0, 0, 0xe8, 0x0f, 0x1f, 0x40, 0);
	EXPECT(scene, 60, AT_60);
	EXPECT(scene, 42, AT_60);
}

static void a_jump_leads_past_what_lies_behind_it(void **state)
{
	struct scene *scene = *state;

	CODE_AT(scene, 5, 0xeb, 65 - 7);
	EXPECT(scene, 0, AT_70);
	CODE_AT(scene, 5, 0xe9, 65 - 10, 0, 0, 0);
	EXPECT(scene, 5, AT_70);
	/* And back. */
	CODE_AT(scene, 72, 0xeb, (uint8_t)(41 - 74));
	EXPECT(scene, 71, AT_60);
}

static void a_loop_has_what_is_behind_its_head(void **state)
{
	struct scene *scene = *state;

	CODE_AT(scene, 45, 0x7c, (uint8_t)(20 - 47));
	EXPECT(scene, 41, AT_40);
	CODE_AT(scene, 45, 0x0f, 0x8c, (uint8_t)(20 - 51), 0xff, 0xff, 0xff);
	EXPECT(scene, 45, AT_40);
	/* One in which nothing is described. */
	CODE_AT(scene, 45, 0x7c, (uint8_t)(43 - 47), 0x90, 0x90, 0x90, 0x90);
	EXPECT(scene, 44, AT_60);
}

/* They may be of methods that one way comes to and the other does not. */
static void what_only_one_way_of_a_branch_leads_to_has_not_started(void **state)
{
	struct scene *scene = *state;

	/* To the call of what is inlined into the same method there. */
	CODE_AT(scene, 20, 0x75, 50 - 22);
	EXPECT(scene, 14, AT_40);
	assert_false(scene->chain.may_lack_inlined);
	CODE_AT(scene, 20, 0x75, 65 - 22);
	EXPECT(scene, 14, 1, 5);
	assert_true(scene->chain.may_lack_inlined);
	EXPECT(scene, 23, AT_40);
	/* It has started before. */
	CODE_AT(scene, 45, 0x75, 65 - 47);
	EXPECT(scene, 42, 2, 7, 1, 5);
	/* A way that is lost. */
	CODE_AT(scene, 20, 0x75, 100 - 22);
	EXPECT(scene, 14, 1, 5);
	for (uint64_t i = 0; i < 10; i++)
		CODE_AT(scene, 20 + 2 * i, 0x75, (uint8_t)(50 - 22 - 2 * i));
	EXPECT(scene, 14, AT_40);
}

static void of_many_branches_none_is_followed(void **state)
{
	struct scene *scene = *state;
	uint32_t outer;

	clear(scene, 0);
	outer = add_scope(scene, 0, 1, 5);
	add_pc_desc(scene, 100, add_scope(scene, outer, 2, 1));
	add_pc_desc(scene, 110, add_scope(scene, outer, 2, 8));
	put_parts(scene);
	for (uint64_t i = 0; i < 33; i++)
		CODE_AT(scene, 2 * i, 0x75, (uint8_t)(105 - 2 - 2 * i));
	EXPECT(scene, 2, 2, 1, 1, 5);
	EXPECT(scene, 0, 1, 5);
}

static void where_the_way_is_lost_both_neighbours_must_have_it(void **state)
{
	static const uint8_t ends[][4] = {
		{0xc3},       /* ret */
		{0xff, 0xe0}, /* jmp *%rax */
		{0xf4},       /* hlt */
		{0x06},       /* none */
		{0xeb, 0x80}, /* out of the code */
		{0xeb, 0xfe}, /* to itself */
	};
	struct scene *scene = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
		uint32_t outer;

		clear(scene, 2);
		outer = add_scope(scene, 0, 1, 5);
		add_pc_desc(scene, 10, add_scope(scene, outer, 2, 1));
		add_pc_desc(scene, 20, add_scope(scene, outer, 2, 8));
		add_pc_desc(scene, 30, add_scope(scene, outer, 3, 8));
		/* Inlined again, at another bytecode. */
		add_pc_desc(scene, 40, add_scope(scene, add_scope(scene, 0, 1, 6), 3, 8));
		add_pc_desc(scene, 50, add_scope(scene, 0, 4, 8));
		put_parts(scene);
		for (uint64_t offset = 5; offset < 50; offset += 10)
			add_code(scene, offset, sizeof(ends[i]), ends[i]);
		EXPECT(scene, 4, 1, 5);
		EXPECT(scene, 15, 2, 8, 1, 5);
		EXPECT(scene, 25, 1, 5);
		EXPECT(scene, 34, 1, 6);
		assert_int_equal(find_at(scene, CODE + 45), -ENOENT);
		assert_int_equal(scene->chain.num_scopes, 0);
		assert_true(scene->chain.may_lack_inlined);
	}
}

static void of_long_code_the_start_is_looked_at(void **state)
{
	struct scene *scene = *state;

	put(scene, BLOB + scene->layout.wire.blob_code_end,
	    CODE + 2 * HOTSPOT_SCOPES_MAX_CODE_BYTES, 8);
	assert_int_equal(find_at(scene, CODE), -EFAULT);
	scene->goes_on = true;
	EXPECT(scene, 0, AT_12);
	assert_int_equal(scene->behind, HOTSPOT_SCOPES_MAX_CODE_BYTES);
}

static void code_does_not_end_before_it_starts(void **state)
{
	struct scene *scene = *state;

	put(scene, BLOB + scene->layout.wire.blob_code_end, CODE - 1, 8);
	assert_int_equal(find_at(scene, CODE), -EBADMSG);
	put(scene, BLOB + scene->layout.wire.blob_code_end, CODE, 8);
	EXPECT(scene, 0, 1, 3);
	EXPECT(scene, 41, 2, 7, 1, 5);
	EXPECT_CALL(scene, 60, AT_60);
}

static void where_nothing_is_described_there_is_nothing(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(find_at(scene, CODE + 71), -ENOENT);
	assert_int_equal(find_at(scene, CODE + 100000), -ENOENT);
	assert_int_equal(find_at(scene, CODE + INT32_MAX), -ENOENT);
	assert_int_equal(find_at(scene, CODE - 1), -ENOENT);
	assert_int_equal(find_at(scene, 0), -ENOENT);
	assert_int_equal(find_at(scene, UINT64_MAX), -ENOENT);
	/* Code that calls a native method. */
	for (size_t i = 0; i < HOTSPOT_TEST_LAYOUTS; i++) {
		clear(scene, i);
		put_parts(scene);
		assert_int_equal(find_at(scene, CODE), -ENOENT);
		assert_false(scene->chain.may_lack_inlined);
		add_pc_desc(scene, -1, 0);
		add_pc_desc(scene, INT32_MAX, 0);
		put_parts(scene);
		assert_int_equal(find_at(scene, CODE), -ENOENT);
	}
}

static void other_code_at_its_place_is_not_taken(void **state)
{
	struct scene *scene = *state;
	unsigned int num_reads;

	put(scene, BLOB + scene->layout.wire.nmethod_compile_id, COMPILE_ID + 1, 4);
	assert_int_equal(find_at(scene, CODE), -ESTALE);

	build(scene, 0);
	assert_int_equal(find_at(scene, CODE), 0);
	num_reads = scene->num_reads;
	for (unsigned int i = 1; i <= num_reads; i++) {
		build(scene, 0);
		scene->changes_at = i;
		assert_int_equal(find_at(scene, CODE), -ESTALE);
	}
}

/* Also where it makes no sense, as it is of two. */
static void what_changes_while_it_is_read_is_not_refused(void **state)
{
	struct scene *scene = *state;

	put(scene, BLOB + scene->layout.scopes.scopes_pcs_end, 0, 4);
	assert_int_equal(find_at(scene, CODE), -EBADMSG);
	scene->num_reads = 0;
	scene->changes_at = 3;
	assert_int_equal(find_at(scene, CODE), -ESTALE);
}

static void a_layout_may_not_say_where_it_is(void **state)
{
	struct scene *scene = *state;

	scene->layout.scopes = (struct hotspot_scopes_layout){0};
	assert_int_equal(find_at(scene, CODE), -ENOTSUP);
}

static void each_read_may_fail(void **state)
{
	struct scene *scene = *state;

	for (size_t i = 0; i < HOTSPOT_TEST_LAYOUTS; i++) {
		unsigned int num_reads;

		build(scene, i);
		assert_int_equal(find_at(scene, CODE), 0);
		num_reads = scene->num_reads;
		assert_in_range(num_reads, 10, 18);
		for (unsigned int j = 1; j <= num_reads; j++) {
			build(scene, i);
			scene->fails_at = j;
			assert_int_equal(find_at(scene, CODE), -EIO);
		}
	}
}

/* Behind the last scope may be the end of what is mapped. */
static void no_more_is_needed_than_there_is(void **state)
{
	struct scene *scene = *state;
	uint64_t base = SCOPES;

	clear(scene, 0);
	scene->scopes.length = 0x1000 - 3;
	add_pc_desc(scene, 12, add_scope(scene, 0, 1, 3));
	put_parts(scene);
	scene->size = base + 0x1000 - BASE;
	EXPECT(scene, 5, 1, 3);
	scene->size--;
	assert_int_equal(find_at(scene, CODE + 5), -EFAULT);
}

static void numbers_that_cannot_be_are_refused(void **state)
{
	struct scene *scene = *state;

	for (unsigned int fault = 0; fault < 9; fault++) {
		clear(scene, 0);
		add_pc_desc(scene, 12, add_scope(scene, 0, 1, 3));
		switch (fault) {
		case 0: /* itself */
			add_pc_desc(scene, 20,
				    add_scope(scene, (uint32_t)scene->scopes.length, 1, 3));
			break;
		case 1: /* a later one */
			add_pc_desc(scene, 20, add_scope(scene, 100, 1, 3));
			break;
		case 2:
			add_pc_desc(scene, 20, add_scope(scene, UINT32_MAX, 1, 3));
			break;
		case 3: /* no method */
			add_pc_desc(scene, 20, add_scope(scene, 0, 0, 3));
			break;
		case 4:
			add_pc_desc(scene, 20,
				    add_scope(scene, 0, HOTSPOT_SCOPES_MAX_METHODS + 1, 3));
			break;
		case 5:
			add_pc_desc(scene, 20, add_scope(scene, 0, UINT32_MAX, 3));
			break;
		case 6: /* beyond all */
			add_pc_desc(scene, 20, HOTSPOT_SCOPES_MAX_BYTES);
			break;
		case 7:
			add_pc_desc(scene, 20, INT32_MAX);
			break;
		case 8: /* of its sender */
			add_pc_desc(scene, 20, add_scope(scene, add_scope(scene, 0, 0, 1), 1, 3));
			break;
		}
		put_parts(scene);
		assert_int_equal(find_at(scene, CODE + 11), -EBADMSG);
	}
	/* Below 0 there is none. */
	clear(scene, 0);
	add_pc_desc(scene, 12, UINT32_MAX);
	put_parts(scene);
	assert_int_equal(find_at(scene, CODE + 11), -ENOENT);
}

static void as_many_descriptions_as_there_cannot_be_are_refused(void **state)
{
	struct scene *scene = *state;
	const struct hotspot_scopes_layout *layout = &scene->layout.scopes;
	uint32_t start = PC_DESCS - BLOB;

	put(scene, BLOB + layout->scopes_pcs_end, start - 16, 4);
	assert_int_equal(find_at(scene, CODE), -EBADMSG);
	put(scene, BLOB + layout->scopes_pcs_end, start + 24, 4);
	assert_int_equal(find_at(scene, CODE), -EBADMSG);
	put(scene, BLOB + layout->scopes_pcs_end, start + 16 * (HOTSPOT_SCOPES_MAX_PC_DESCS + 1),
	    4);
	assert_int_equal(find_at(scene, CODE), -EBADMSG);
	put(scene, BLOB + layout->scopes_pcs_end, start + 16 * HOTSPOT_SCOPES_MAX_PC_DESCS, 4);
	assert_int_equal(find_at(scene, CODE), -EFAULT);
}

/* A number that has a byte of 0, which JDK 20 and newer do not write. */
static void bytes_that_are_no_numbers_are_refused(void **state)
{
	struct scene *scene = *state;

	clear(scene, 2);
	scene->scopes.length = 20;
	add_pc_desc(scene, 12, 10);
	put_parts(scene);
	assert_int_equal(find_at(scene, CODE + 11), -EBADMSG);
}

static void a_bytecode_may_be_none(void **state)
{
	struct scene *scene = *state;

	clear(scene, 0);
	add_pc_desc(scene, 12, add_scope(scene, 0, 1, 65535));
	add_pc_desc(scene, 13, add_scope(scene, 0, 1, (uint32_t)-2));
	put_parts(scene);
	EXPECT(scene, 11, 1, WIRE_HOTSPOT_NO_BYTECODE);
	EXPECT(scene, 13, 1, WIRE_HOTSPOT_NO_BYTECODE);
}

/* It is for whoever keeps many of them. */
static void its_size_is_that_of_what_is_kept(void **state)
{
	struct hotspot_scopes *scopes;
	struct scene *scene = *state;
	size_t size;

	clear(scene, 0);
	add_pc_desc(scene, 12, add_scope(scene, 0, 1, 3));
	put_parts(scene);
	assert_int_equal(
		hotspot_scopes_read(&scene->layout, &scene->memory, BLOB, COMPILE_ID, &scopes), 0);
	size = hotspot_scopes_get_size(scopes);
	hotspot_scopes_free(scopes);
	/* Another description of 8 bytes, of a scope that is 24 bytes behind, and 189 other methods. */
	scene->scopes.length += 18;
	add_pc_desc(scene, 20, add_scope(scene, 0, 190, 3));
	put_parts(scene);
	assert_int_equal(
		hotspot_scopes_read(&scene->layout, &scene->memory, BLOB, COMPILE_ID, &scopes), 0);
	assert_int_equal(hotspot_scopes_get_size(scopes), size + 8 + 24 + 8 * 189);
	hotspot_scopes_free(scopes);
}

static void the_number_of_levels_is_bounded(void **state)
{
	struct scene *scene = *state;
	uint32_t scope = 0;

	clear(scene, 0);
	for (int i = 0; i < HOTSPOT_SCOPES_MAX_DEPTH; i++)
		scope = add_scope(scene, scope, 1 + (uint32_t)i, 3);
	add_pc_desc(scene, 12, scope);
	add_pc_desc(scene, 20, add_scope(scene, scope, 1, 3));
	put_parts(scene);
	assert_int_equal(find_at(scene, CODE + 11), 0);
	assert_int_equal(scene->chain.num_scopes, HOTSPOT_SCOPES_MAX_DEPTH);
	assert_int_equal(find_at(scene, CODE + 19), -EBADMSG);
}

/*
 * Methods by their address.
 */

static uint64_t put_symbol(struct scene *scene, unsigned int number, const char *text,
			   uint16_t length)
{
	uint64_t symbol = SYMBOL + 0x200 * number;

	put(scene, symbol + scene->layout.wire.symbol_length, length, 2);
	memcpy(scene->bytes + (symbol + scene->layout.wire.symbol_text - BASE), text, strlen(text));
	return symbol;
}

static void put_pool_symbol(struct scene *scene, unsigned int number, const char *text)
{
	put(scene, POOL + scene->layout.wire.pool_bytes + 8 * number,
	    put_symbol(scene, number, text, (uint16_t)strlen(text)), 8);
}

static void build_method(struct scene *scene, size_t number)
{
	const struct wire_hotspot_layout *layout;

	clear(scene, number);
	layout = &scene->layout.wire;
	put(scene, METHOD + layout->method_const, CONST, 8);
	put(scene, CONST + layout->const_pool, POOL, 8);
	put(scene, CONST + layout->const_code_bytes, 20, 2);
	put(scene, CONST + layout->const_name, 7, 2);
	put(scene, CONST + layout->const_flags, 0xff00 | layout->const_has_lines, 2);
	memset(scene->bytes + (CONST - BASE) + layout->const_bytes, 0xaa, 20);
	put(scene, CONST + layout->const_bytes + 20, 0x0018, 2);
	put(scene, POOL + layout->pool_class, CLASS, 8);
	if (layout->pool_file != WIRE_HOTSPOT_NONE)
		put(scene, POOL + layout->pool_file, 9, 2);
	else
		put(scene, CLASS + layout->class_file, 9, 2);
	put_pool_symbol(scene, 7, "put");
	put_pool_symbol(scene, 9, "HashMap.java");
	put(scene, CLASS + layout->class_name, put_symbol(scene, 1, "java/util/HashMap", 17), 8);
}

static int read_it(struct scene *scene, struct wire_hotspot_method *ret)
{
	return hotspot_method_read(&scene->layout, &scene->memory, METHOD, ret);
}

static void expect_text(const struct wire_hotspot_text *text, const uint8_t *bytes,
			const char *expected)
{
	assert_int_equal(text->num_bytes, strlen(expected));
	assert_int_equal(text->length, strlen(expected));
	assert_memory_equal(bytes, expected, strlen(expected));
	assert_int_equal(bytes[strlen(expected)], 0);
}

static void a_method_is_read_by_its_address(void **state)
{
	struct scene *scene = *state;
	struct wire_hotspot_method record;

	for (size_t i = 0; i < HOTSPOT_TEST_LAYOUTS; i++) {
		build_method(scene, i);
		assert_int_equal(read_it(scene, &record), 0);
		expect_text(&record.class_name, record.class_text, "java/util/HashMap");
		expect_text(&record.name, record.name_text, "put");
		expect_text(&record.file, record.file_text, "HashMap.java");
		assert_int_equal(record.method, METHOD);
		assert_int_equal(record.code_bytes, 20);
		assert_int_equal(record.major, scene->layout.major);
		assert_int_equal(record.num_line_bytes, WIRE_HOTSPOT_LINE_BYTES);
		assert_int_equal(record.lines[0], 0x18);
		assert_int_equal(record.lines[1], 0);
		assert_int_equal(record.code | record.generation | record.pid | record.fingerprint |
					 record.type | record.compile_id,
				 0);
	}
}

static void a_method_may_have_no_file_and_no_lines(void **state)
{
	struct scene *scene = *state;
	const struct wire_hotspot_layout *layout = &scene->layout.wire;
	struct wire_hotspot_method record;

	build_method(scene, 0);
	put(scene, POOL + layout->pool_file, 0, 2);
	put(scene, CONST + layout->const_flags, 0xff00 & ~layout->const_has_lines, 2);
	assert_int_equal(read_it(scene, &record), 0);
	expect_text(&record.name, record.name_text, "put");
	expect_text(&record.file, record.file_text, "");
	assert_int_equal(record.num_line_bytes, 0);

	/* Or they cannot be read. */
	build_method(scene, 0);
	put(scene, POOL + layout->pool_bytes + 8 * 9, 8, 8);
	assert_int_equal(read_it(scene, &record), 0);
	expect_text(&record.name, record.name_text, "put");
	expect_text(&record.file, record.file_text, "");
	put(scene, POOL + layout->pool_file, 65535, 2);
	assert_int_equal(read_it(scene, &record), 0);
	expect_text(&record.file, record.file_text, "");
}

static void without_a_name_it_is_no_method(void **state)
{
	struct scene *scene = *state;
	const struct wire_hotspot_layout *layout = &scene->layout.wire;
	struct wire_hotspot_method record;

	build_method(scene, 0);
	put(scene, POOL + layout->pool_bytes + 8 * 7, 0, 8);
	assert_int_equal(read_it(scene, &record), -EBADMSG);
	build_method(scene, 0);
	put(scene, CLASS + layout->class_name, 0, 8);
	assert_int_equal(read_it(scene, &record), -EBADMSG);
	build_method(scene, 0);
	put_symbol(scene, 7, "", 0);
	assert_int_equal(read_it(scene, &record), -EBADMSG);
	assert_int_equal(hotspot_method_read(&scene->layout, &scene->memory, 0, &record), -EFAULT);
}

static void of_long_names_as_much_is_read_as_is_sent(void **state)
{
	struct scene *scene = *state;
	struct wire_hotspot_method record;

	build_method(scene, 0);
	put_symbol(scene, 1, "java/util/HashMap", 65535);
	put_symbol(scene, 7, "put", 200);
	put_symbol(scene, 9, "HashMap.java", 200);
	assert_int_equal(read_it(scene, &record), 0);
	assert_int_equal(record.class_name.length, 65535);
	assert_int_equal(record.class_name.num_bytes, WIRE_HOTSPOT_CLASS_BYTES);
	assert_int_equal(record.name.length, 200);
	assert_int_equal(record.name.num_bytes, WIRE_HOTSPOT_NAME_BYTES);
	assert_int_equal(record.file.num_bytes, WIRE_HOTSPOT_FILE_BYTES);
}

static void lines_are_read_up_to_the_end_of_what_is_mapped(void **state)
{
	struct scene *scene = *state;
	const struct wire_hotspot_layout *layout = &scene->layout.wire;
	uint64_t last = BASE + SIZE - layout->const_bytes - 20 - 2;
	struct wire_hotspot_method record;

	build_method(scene, 0);
	memcpy(scene->bytes + (last - BASE), scene->bytes + (CONST - BASE),
	       layout->const_bytes + 20 + 2u);
	put(scene, METHOD + layout->method_const, last, 8);
	assert_int_equal(read_it(scene, &record), 0);
	assert_int_equal(record.num_line_bytes, 2);
	assert_int_equal(record.lines[0], 0x18);
}

static void each_read_of_a_method_may_fail(void **state)
{
	struct scene *scene = *state;
	struct wire_hotspot_method record;
	unsigned int num_reads;
	unsigned int num_failed = 0;

	build_method(scene, 0);
	assert_int_equal(read_it(scene, &record), 0);
	num_reads = scene->num_reads;
	for (unsigned int i = 1; i <= num_reads; i++) {
		int err;

		build_method(scene, 0);
		scene->fails_at = i;
		err = read_it(scene, &record);
		assert_true(err == -EIO || !err);
		num_failed += err != 0;
		if (!err)
			expect_text(&record.name, record.name_text, "put");
	}
	/* All but those of the file and of lines. */
	assert_int_equal(num_failed, num_reads - 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_call_has_exactly_what_calls, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_call_that_is_not_described_is_as_what_is_behind_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_instruction_has_what_comes_next, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_behind_a_call_is_not_what_calls, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_jump_leads_past_what_lies_behind_it, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_loop_has_what_is_behind_its_head, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			what_only_one_way_of_a_branch_leads_to_has_not_started, set_up, tear_down),
		cmocka_unit_test_setup_teardown(of_many_branches_none_is_followed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(where_the_way_is_lost_both_neighbours_must_have_it,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(of_long_code_the_start_is_looked_at, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(code_does_not_end_before_it_starts, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(where_nothing_is_described_there_is_nothing, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(other_code_at_its_place_is_not_taken, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_changes_while_it_is_read_is_not_refused,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_layout_may_not_say_where_it_is, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(each_read_may_fail, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_more_is_needed_than_there_is, set_up, tear_down),
		cmocka_unit_test_setup_teardown(numbers_that_cannot_be_are_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(as_many_descriptions_as_there_cannot_be_are_refused,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(bytes_that_are_no_numbers_are_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_bytecode_may_be_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(its_size_is_that_of_what_is_kept, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_number_of_levels_is_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_method_is_read_by_its_address, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_method_may_have_no_file_and_no_lines, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(without_a_name_it_is_no_method, set_up, tear_down),
		cmocka_unit_test_setup_teardown(of_long_names_as_much_is_read_as_is_sent, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(lines_are_read_up_to_the_end_of_what_is_mapped,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(each_read_of_a_method_may_fail, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
