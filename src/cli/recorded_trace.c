#include "cli/recorded_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/inputs.h"

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
	return recorder_build_trace(recording->recorder, timeline);
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
static int check_files(const struct recorder *recorder)
{
	struct trace_losses losses = recorder_get_trace_losses(recorder);

	if (!losses.error)
		return EXIT_DONE;
	log_error("the trace lacks %" PRIu64 " of %" PRIu64 " samples and %" PRIu64
		  " values of how full stacks were, which could not be kept in a temporary file: "
		  "%s; set TMPDIR to a folder with room",
		  losses.lost_samples, losses.num_samples, losses.lost_fills,
		  strerror(losses.error));
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
	err = check_files(recording->recorder);
	return status ? status : err;
}
