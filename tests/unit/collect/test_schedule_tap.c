#include "collect/schedule_tap.h"

#include <bpf/btf.h>

#include "unit.h"

/*
 * The kernel's types with one tracepoint: its own argument, then those that `order` names: b is a
 * bool, t a task, s a state.
 */
static struct btf *make_types(const char *order)
{
	struct btf *btf = btf__new_empty();
	int is_bool = btf__add_int(btf, "_Bool", 1, BTF_INT_BOOL);
	int state = btf__add_int(btf, "unsigned int", 4, 0);
	int task = btf__add_ptr(btf, btf__add_struct(btf, "task_struct", 64));
	int own = btf__add_ptr(btf, 0);
	int function = btf__add_func_proto(btf, 0);

	assert_int_equal(btf__add_func_param(btf, "__data", own), 0);
	for (; *order; order++)
		assert_int_equal(btf__add_func_param(btf, "",
						     *order == 'b'   ? is_bool
						     : *order == 't' ? task
								     : state),
				 0);
	assert_true(btf__add_typedef(btf, "btf_trace_sched_switch", btf__add_ptr(btf, function)) >
		    0);
	return btf;
}

static void assert_arguments(const char *order, enum switch_arguments expected)
{
	struct btf *btf = make_types(order);

	assert_int_equal(schedule_tap_probe_switch(btf), expected);
	btf__free(btf);
}

static void arguments_are_seen_in_the_kernels_types(void **state _unused_)
{
	assert_arguments("btt", SWITCH_PREVIOUS_NEXT);
	assert_arguments("bstt", SWITCH_STATE_PREVIOUS_NEXT);
	assert_arguments("btts", SWITCH_PREVIOUS_NEXT_STATE);
}

static void arguments_that_nobody_knows_are_refused(void **state _unused_)
{
	assert_arguments("bt", SWITCH_UNKNOWN);
	assert_arguments("bst", SWITCH_UNKNOWN);
	assert_arguments("", SWITCH_UNKNOWN);
}

static void without_the_tracepoint_there_are_none(void **state _unused_)
{
	struct btf *btf = btf__new_empty();

	assert_int_equal(schedule_tap_probe_switch(btf), SWITCH_UNKNOWN);
	btf__free(btf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_are_seen_in_the_kernels_types),
		cmocka_unit_test(arguments_that_nobody_knows_are_refused),
		cmocka_unit_test(without_the_tracepoint_there_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
