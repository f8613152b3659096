#include "collect/kernel/own_times.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "base/arithmetic.h"
#include "collect/kernel/bpf_rings.h"

void own_times_release(struct own_times *times)
{
	array_release(&times->readings);
}

static void read_statistics(const struct bpf_program *program, struct own_time_reading *ret)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);
	int fd = bpf_program__fd(program);

	if (fd < 0 || bpf_program__expected_attach_type(program) == BPF_TRACE_ITER ||
	    bpf_obj_get_info_by_fd(fd, &info, &size))
		return;
	ret->measured_ns += info.run_time_ns;
	ret->num_measured += info.run_cnt;
}

int own_times_add(struct own_times *times, const struct bpf_object *object)
{
	struct own_time_reading *reading = array_add(&times->readings);
	const struct bpf_map *map = bpf_object__find_map_by_name(object, "own_times");
	struct bpf_program *program = NULL;

	if (!reading)
		return -ENOMEM;
	while ((program = bpf_object__next_program(object, program)))
		read_statistics(program, reading);
	if (!map ||
	    bpf_counters_read(bpf_map__fd(map), &reading->sampled, sizeof(reading->sampled)))
		reading->sampled = (struct wire_own_time){0};
	return 0;
}

static struct wire_own_time subtract_sampled(const struct wire_own_time *start,
					     const struct wire_own_time *end)
{
	return (struct wire_own_time){
		.num_runs = (end->num_runs - end->runs_left) - (start->num_runs - start->runs_left),
		.num_timed = end->num_timed - start->num_timed,
		.timed_ns = end->timed_ns - start->timed_ns,
	};
}

static uint64_t estimate_ns(const struct wire_own_time *sampled)
{
	struct ratio runs_of_timed = {sampled->num_runs, sampled->num_timed};

	return sampled->num_timed ? ratio_scale(&runs_of_timed, sampled->timed_ns) : 0;
}

/* Statistics that were switched on meanwhile have not seen all runs. */
static bool are_measured(uint64_t num_measured, uint64_t num_runs)
{
	return num_measured && num_measured >= num_runs - num_runs / 100;
}

struct program_time own_times_subtract(const struct own_times *start, const struct own_times *end)
{
	struct program_time sum = {0};

	for (size_t i = 0; i < end->readings.length; i++) {
		const struct own_time_reading *now = &end->readings.items[i];
		struct own_time_reading before = {0};
		struct wire_own_time sampled;
		uint64_t num_measured;

		if (i < start->readings.length)
			before = start->readings.items[i];
		sampled = subtract_sampled(&before.sampled, &now->sampled);
		num_measured = now->num_measured - before.num_measured;
		sum.sampled_ns += estimate_ns(&sampled);
		if (are_measured(num_measured, sampled.num_runs)) {
			sum.ns += now->measured_ns - before.measured_ns;
			sum.num_runs += num_measured;
		} else {
			sum.ns += estimate_ns(&sampled);
			sum.num_runs += sampled.num_runs;
			sum.is_sampled |= sampled.num_runs > 0;
		}
	}
	return sum;
}
