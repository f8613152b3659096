#include "cli/recorded_trace.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/command.h"
#include "collect/trace_builder.h"

static int add_system(const struct recording *recording, struct timeline *timeline)
{
	struct timeline_system system = {
		.num_cpus = recording->account.ticks.num_cpus,
		.sample_frequency = recording->options->frequency_hz,
	};
	struct utsname names;
	int err = timeline_add_string(timeline, recorder_get_event_name(recording->recorder),
				      &system.sample_metric);

	if (!err && uname(&names) == 0) {
		err = timeline_add_string(timeline, names.release, &system.kernel_release);
		if (!err)
			err = timeline_add_string(timeline, names.version, &system.kernel_version);
		if (!err)
			err = timeline_add_string(timeline, names.machine, &system.machine);
	}
	timeline_set_system(timeline, &system);
	return err;
}

static int fill(const struct recording *recording, struct timeline *timeline)
{
	const struct recorder *recorder = recording->recorder;
	struct trace_source source = {
		.log = recorder_get_trace_log(recorder),
		.profile = recorder_get_profile(recording->recorder),
		.processes = recorder_get_processes(recorder),
		.period_ns = NS_PER_SECOND / recording->options->frequency_hz,
	};
	int err = add_system(recording, timeline);

	if (!err)
		err = timeline_add_clock(timeline, &recording->begin_clocks, NULL);
	return err ? err : trace_builder_build(&source, timeline);
}

int recorded_trace_make(const struct recording *recording, struct timeline **ret)
{
	_cleanup_(timeline_freep) struct timeline *timeline = timeline_new();
	int err = timeline ? fill(recording, timeline) : -ENOMEM;

	if (err) {
		log_error("cannot make the trace: %s", strerror(-err));
		return EXIT_FAILED;
	}
	*ret = return_ptr(timeline);
	return 0;
}
