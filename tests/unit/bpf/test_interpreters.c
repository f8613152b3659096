/* The choice between interpreters: by the runtime of the process, and HotSpot by its frames in the native stack. */
#include "bpf/fake_kernel.h"

/* clang-format off */
#define const
#include "interpreters.h"
#undef const
/* clang-format on */

static struct scratch *scratch;
static struct wire_runtime_stack *stack;
static struct task_struct task;

static int set_up(void **state _unused_)
{
	fake_kernel_reset();
	FAKE_PER_CPU(scratches);
	FAKE_PER_CPU(python_scratches);
	FAKE_PER_CPU(v8_scratches);
	FAKE_PER_CPU(script_scratches);
	FAKE_PER_CPU(hotspot_scratches);
	FAKE_PER_CPU(runtime_stacks);
	FAKE_ARRAY(runtime_layouts, NUM_WIRE_INTERPRETERS);
	FAKE_HASH(python_threads, 4);
	FAKE_HASH(hotspot_codes, 4);
	FAKE_ARRAY(unwind_mappings, 1);
	FAKE_ARRAY(sent_runtime, 1);
	FAKE_RINGS(rings);
	for (uint32_t runtime = 0; runtime < NUM_WIRE_INTERPRETERS; runtime++) {
		struct wire_runtime_layout layout = {.runtime = runtime};

		fake_map_update(fake_map_find(&runtime_layouts), &runtime, &layout);
	}
	task = (struct task_struct){0};
	fake_kernel.task = &task;
	scratch = get_scratch();
	stack = get_per_cpu(&runtime_stacks);
	stack->runtime = NUM_WIRE_RUNTIMES;
	start_runtime_walk(scratch);
	return 0;
}

static int tear_down(void **state _unused_)
{
	fake_kernel_release();
	return 0;
}

static void each_runtime_has_its_walk(void **state _unused_)
{
	for (uint32_t runtime = 0; runtime < NUM_WIRE_INTERPRETERS; runtime++) {
		if (runtime == WIRE_RUNTIME_HOTSPOT)
			continue;
		scratch->runtime.layout = runtime + 1;
		scratch->runtime.runtime = runtime;
		assert_int_not_equal(take_runtime_stack(scratch), 0);
		assert_int_equal(stack->runtime, runtime);
	}
}

static void hotspot_has_frames_once_the_walk_has_met_its_code(void **state _unused_)
{
	scratch->hotspot_layout = WIRE_RUNTIME_HOTSPOT + 1;
	assert_int_equal(take_runtime_stack(scratch), 0);
	assert_int_equal(stack->runtime, NUM_WIRE_RUNTIMES);
	scratch->hotspot_state = HOTSPOT_NOT_FOUND;
	assert_int_equal(take_runtime_stack(scratch), 0);
	scratch->hotspot_state = HOTSPOT_STARTED;
	assert_int_not_equal(take_runtime_stack(scratch), 0);
	assert_int_equal(stack->runtime, WIRE_RUNTIME_HOTSPOT);
}

/* As in a program of Python that starts a virtual machine of Java. */
static void another_runtime_of_the_process_precedes_hotspot(void **state _unused_)
{
	scratch->hotspot_state = HOTSPOT_STARTED;
	scratch->runtime.layout = WIRE_RUNTIME_PYTHON + 1;
	scratch->runtime.runtime = WIRE_RUNTIME_PYTHON;
	assert_int_not_equal(take_runtime_stack(scratch), 0);
	assert_int_equal(stack->runtime, WIRE_RUNTIME_PYTHON);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_runtime_has_its_walk),
		TEST(hotspot_has_frames_once_the_walk_has_met_its_code),
		TEST(another_runtime_of_the_process_precedes_hotspot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
