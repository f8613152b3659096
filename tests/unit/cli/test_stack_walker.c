/* Copied stacks, walked in the mappings of their own moment. */
#include "cli/files/stack_walker.c"

#include <fcntl.h>

#include "unit.h"

#define STACK 0x7000ull
#define WORDS 64

enum { LIBRARY, PROGRAM, NUM_FILES };

static struct file_table *files;
static unsigned int num_sought[NUM_FILES];
static int find_error;
static uint64_t words[WORDS];
static uint64_t pcs[WIRE_MAX_FRAMES + 1];
static size_t num_pcs;

/* Nothing but the program is found, which is no ELF file. */
static int find_file(void *context, uint32_t module)
{
	assert_ptr_equal(context, words);
	num_sought[module]++;
	file_table_set_found(files, module,
			     module == PROGRAM ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1,
			     false);
	return find_error;
}

static int set_up(void **state _unused_)
{
	struct file_identity library = {.path = "/lib/library.so"},
			     program = {.path = "/bin/program"};

	files = file_table_new("/proc", NULL);
	assert_non_null(files);
	assert_int_equal(file_table_add_sought(files, &library), 0);
	assert_int_equal(file_table_add_sought(files, &program), 0);
	memset(num_sought, 0, sizeof(num_sought));
	memset(words, 0, sizeof(words));
	memset(pcs, 0, sizeof(pcs));
	find_error = 0;
	return 0;
}

static int tear_down(void **state _unused_)
{
	file_table_free(files);
	return 0;
}

static const struct import_mapping mappings[] = {
	{.start = 0x1000, .end = 0x2000, .module = LIBRARY},
	{.start = 0x2000, .end = 0x3000, .module = IMPORT_NO_MODULE},
	{.start = 0x4000, .end = 0x5000, .module = PROGRAM},
	{.start = 0x5000, .end = 0x6000, .module = IMPORT_NO_MODULE},
};

/* So many frames of generated code, each with its frame pointer. */
static struct import_stack make_chain(size_t num_frames, uint64_t pc)
{
	struct import_stack stack = {
		.registers = {.pc = pc, .sp = STACK, .fp = STACK},
		.bytes = (const uint8_t *)words,
		.size = sizeof(words),
		.mappings = mappings,
		.num_mappings = ARRAY_LENGTH(mappings),
	};

	for (size_t i = 0; i + 1 < num_frames; i++) {
		words[2 * i] = STACK + 16 * (i + 1);
		words[2 * i + 1] = 0x2100 + 16 * i;
	}
	return stack;
}

/* Returns as the walk does; pcs and num_pcs are its result. */
static int walk_stack(const struct import_stack *stack, size_t max_pcs)
{
	struct stack_walker *walker = stack_walker_new(files, find_file, words);
	int ret;

	assert_non_null(walker);
	num_pcs = 0;
	ret = stack_walker_walk(walker, stack, pcs, max_pcs, &num_pcs);
	stack_walker_free(walker);
	return ret;
}

static void a_mapping_ends_where_the_next_one_starts(void **state _unused_)
{
	static const struct {
		uint64_t pc;
		int mapping; /* -1: none */
	} cases[] = {
		{0, -1},      {0xfff, -1},  {0x1000, 0}, {0x1fff, 0}, {0x2000, 1}, {0x2fff, 1},
		{0x3000, -1}, {0x3fff, -1}, {0x4fff, 2}, {0x5000, 3}, {0x5fff, 3}, {0x6000, -1},
	};
	struct import_stack stack = make_chain(1, 0);

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const struct import_mapping *found = find_mapping(&stack, cases[i].pc);

		if (cases[i].mapping < 0)
			assert_null(found);
		else
			assert_ptr_equal(found, &mappings[cases[i].mapping]);
	}
	stack.num_mappings = 0;
	assert_null(find_mapping(&stack, 0x1000));
}

static void generated_code_is_walked_by_frame_pointers(void **state _unused_)
{
	struct import_stack stack = make_chain(5, 0x2010);

	(void)!walk_stack(&stack, WIRE_MAX_FRAMES);
	assert_true(num_pcs >= 5);
	assert_int_equal(pcs[0] & ~IMPORT_PC_EXACT, 0x2010);
	/* No mark of a step is left. */
	for (size_t i = 1; i < 5; i++)
		assert_int_equal(pcs[i], 0x2100 + 16 * (i - 1));
	assert_int_equal(num_sought[LIBRARY] + num_sought[PROGRAM], 0);
}

static void no_more_is_returned_than_there_is_room_for(void **state _unused_)
{
	struct import_stack stack = make_chain(20, 0x2010);

	(void)!walk_stack(&stack, 3);
	assert_int_equal(num_pcs, 3);
	assert_int_equal(pcs[2], 0x2110);
	assert_int_equal(pcs[3], 0);
}

static void a_missing_file_ends_the_walk(void **state _unused_)
{
	struct import_stack stack = make_chain(4, 0x2010);

	words[3] = 0x1800; /* the third frame is in the library */
	assert_int_equal(walk_stack(&stack, WIRE_MAX_FRAMES), 0);
	assert_int_equal(num_pcs, 3);
	assert_int_equal(pcs[2], 0x1800);
	assert_int_equal(num_sought[LIBRARY], 1);
	assert_int_equal(num_sought[PROGRAM], 0);
}

static void a_file_is_sought_once(void **state _unused_)
{
	struct stack_walker *walker = stack_walker_new(files, find_file, words);
	struct import_stack stack = make_chain(4, 0x4000);

	assert_non_null(walker);
	for (size_t i = 0; i < 3; i++)
		assert_true(stack_walker_walk(walker, &stack, pcs, WIRE_MAX_FRAMES, &num_pcs) >= 0);
	assert_int_equal(num_sought[PROGRAM], 1);
	assert_int_equal(num_sought[LIBRARY], 0);
	stack_walker_free(walker);
	stack_walker_free(NULL);
}

static void an_error_of_the_search_is_returned(void **state _unused_)
{
	struct import_stack stack = make_chain(4, 0x1000);

	find_error = -ENOMEM;
	num_pcs = 7;
	assert_int_equal(walk_stack(&stack, WIRE_MAX_FRAMES), -ENOMEM);
	assert_int_equal(num_pcs, 0);
	/* Code that no file backs needs none. */
	stack.registers.pc = 0x2010;
	words[1] = 0x5100;
	words[3] = 0;
	assert_true(walk_stack(&stack, WIRE_MAX_FRAMES) >= 0);
	assert_int_equal(pcs[1], 0x5100);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_mapping_ends_where_the_next_one_starts),
		TEST(generated_code_is_walked_by_frame_pointers),
		TEST(no_more_is_returned_than_there_is_room_for),
		TEST(a_missing_file_ends_the_walk),
		TEST(a_file_is_sought_once),
		TEST(an_error_of_the_search_is_returned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
