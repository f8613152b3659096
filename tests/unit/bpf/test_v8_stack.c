/* Where the walk finds the JavaScript function of a native level. */
#include "bpf/fake_kernel.h"

/* clang-format off */
#define const
#include "hotspot_stack.h"
#include "v8_stack.h"
#undef const
/* clang-format on */

#define PC       0x7f0000001000
#define FP       0x7ffc00001000
#define CLOSURE  0x1111
#define INSTANCE 0x2221
#define MARKER   38

static struct scratch *scratch;
static struct v8_scratch *v8;
/* The two words below the frame pointer: closure and context. */
static const uint64_t frame[] = {0x3331, 0x4441};

static int set_up(void **state _unused_)
{
	fake_kernel_reset();
	FAKE_PER_CPU(scratches);
	FAKE_PER_CPU(v8_scratches);
	FAKE_PER_CPU(runtime_stacks);
	FAKE_ARRAY(v8_layouts, 1);
	scratch = get_scratch();
	v8 = get_per_cpu(&v8_scratches);
	v8->walk.layout.wasm_marker = MARKER;
	scratch->registers.di = CLOSURE;
	scratch->registers.si = INSTANCE;
	for (int i = 0; i < 8; i++) {
		scratch->stack.pcs[i] = PC + 16 * (uint64_t)i;
		scratch->frame_pointers[i] = FP;
	}
	fake_memory_add(FP - V8_FRAME_FUNCTION, frame, sizeof(frame));
	return 0;
}

static int tear_down(void **state _unused_)
{
	fake_kernel_release();
	return 0;
}

static void expect_words(uint64_t function, uint64_t context)
{
	assert_int_equal(v8->walk.words[0], function);
	assert_int_equal(v8->walk.words[1], context);
}

static void a_level_with_a_frame_pointer_has_its_function_there(void **state _unused_)
{
	for (int level = 1; level < 8; level++) {
		memset(v8->walk.words, 0, sizeof(v8->walk.words));
		scratch->stack.pcs[level] |= WIRE_PC_FP_STEP;
		assert_int_equal(find_v8_frame(level), 1);
		expect_words(frame[0], frame[1]);
	}
	scratch->frame_pointers[2] = FP + 0x10000; /* unreadable */
	assert_int_equal(find_v8_frame(2), 0);
}

/* The closure is still in a register. */
static void a_frame_in_setup_is_that_of_the_second_level(void **state _unused_)
{
	scratch->walk.frame_setup = WALK_FRAME_SETUP_JAVASCRIPT;
	assert_int_equal(find_v8_frame(1), 1);
	expect_words(CLOSURE, CLOSURE);
	for (int level = 2; level < 8; level++)
		assert_int_equal(find_v8_frame(level), 0);
	assert_int_equal(find_v8_frame(0), 0);
	scratch->walk.frame_setup = WALK_FRAME_SETUP_WASM;
	assert_int_equal(find_v8_frame(1), 1);
	expect_words(INSTANCE, MARKER);
}

/* Native code may hold anything in rdi. */
static void without_frame_setup_registers_hold_no_function(void **state _unused_)
{
	scratch->walk.frame_setup = WALK_FRAME_SETUP_NONE;
	for (int level = 0; level < 8; level++)
		assert_int_equal(find_v8_frame(level), 0);
	assert_int_equal(find_v8_frame(-1), 0);
}

static void a_walk_needs_a_layout(void **state _unused_)
{
	scratch->v8_layout = 0;
	assert_int_equal(begin_v8_walk(), -1);
	scratch->v8_layout = 2;
	assert_int_equal(begin_v8_walk(), -1);
	scratch->v8_layout = 1;
	v8->walk.num_frames = 5;
	assert_int_equal(begin_v8_walk(), 0);
	assert_int_equal(v8->walk.num_frames, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_level_with_a_frame_pointer_has_its_function_there),
		TEST(a_frame_in_setup_is_that_of_the_second_level),
		TEST(without_frame_setup_registers_hold_no_function),
		TEST(a_walk_needs_a_layout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
