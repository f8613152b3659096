#include "cli/recorded_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/inputs.h"
#include "collect/trace_builder.h"
#include "collect/trace_schedule.h"

static int add_system(const struct recording *recording, struct timeline *timeline)
{
	struct timeline_system system = {
		.num_cpus = recording->account.ticks.num_cpus,
		.sample_frequency = recording->options->frequency_hz,
	};
	struct utsname names;
	int err = timeline_add_string(timeline, recorder_get_event_name(recording->recorder),
				      &system.sample_metric);

	if (err)
		return err;
	if (uname(&names) == 0) {
		err = timeline_add_string(timeline, names.release, &system.kernel_release);
		if (err)
			return err;
		err = timeline_add_string(timeline, names.version, &system.kernel_version);
		if (err)
			return err;
		err = timeline_add_string(timeline, names.machine, &system.machine);
		if (err)
			return err;
	}
	timeline_set_system(timeline, &system);
	return 0;
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
	struct schedule_store *schedule = recorder_get_schedule(recorder);
	int err = add_system(recording, timeline);

	if (err)
		return err;
	err = timeline_add_clock(timeline, &recording->begin_clocks, NULL);
	if (err)
		return err;
	array_for_each (&recording->later_clocks, clocks) {
		err = timeline_add_clock(timeline, clocks, NULL);
		if (err)
			return err;
	}
	err = trace_builder_build(&source, timeline);
	if (err || !schedule)
		return err;
	return trace_schedule_add(schedule, source.processes, timeline);
}

/* The zones' profile is not the recording's: it weighs something else. */
static int read_zones(const struct recording *recording, struct timeline *timeline)
{
	static const struct input_options options = {.format = "zones", .is_growing = true};
	_cleanup_(profile_freep) struct profile *profile = profile_new();
	int status = EXIT_DONE;

	if (!profile) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	array_for_each (&recording->options->zones_paths, path)
		if (!status)
			status = inputs_read_file(*path, &options, profile, timeline, NULL);
	return status;
}

/* Whether everything is in the files that the trace is made from; what is not is told. */
static int check_files(struct trace_log *log)
{
	struct spool_counts samples = spool_get_counts(trace_log_get_samples(log));
	struct spool_counts fills = spool_get_counts(trace_log_get_fills(log));
	int err = samples.lost_errno ? samples.lost_errno : fills.lost_errno;

	if (!err)
		return EXIT_DONE;
	log_error("the trace lacks %" PRIu64 " of %" PRIu64 " samples and %" PRIu64
		  " values of how full stacks were, which could not be kept in a temporary file: "
		  "%s; set TMPDIR to a folder with room",
		  samples.lost, samples.lost + samples.kept, fills.lost, strerror(err));
	return EXIT_FAILED;
}

int recorded_trace_make(const struct recording *recording, struct timeline **ret)
{
	_cleanup_(timeline_freep) struct timeline *timeline = timeline_new();
	int status = timeline ? read_zones(recording, timeline) : EXIT_DONE;
	int err;

	/* A recording cannot be made again: it is written without what is wrong with the zones. */
	if (status) {
		log_warning("the trace is written without the zones");
		timeline_free(timeline);
		timeline = timeline_new();
	}
	err = timeline ? fill(recording, timeline) : -ENOMEM;
	if (err) {
		log_error("cannot make the trace: %s", strerror(-err));
		return EXIT_FAILED;
	}
	*ret = return_ptr(timeline);
	err = check_files(recorder_get_trace_log(recording->recorder));
	return status ? status : err;
}
