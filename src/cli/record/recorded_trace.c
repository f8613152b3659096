#include "cli/record/recorded_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/files/inputs.h"
#include "cli/options/command.h"
#include "timeline/zone_off_cpu.h"

/* uname() is still that of the recording: the machine was not rebooted in between. */
static int add_system(const struct recording *recording, struct timeline *timeline)
{
	struct timeline_system system = {.num_cpus = recording->account.ticks.num_cpus};
	struct utsname names;
	int err = 0;

	/* Chosen events describe themselves. */
	if (!recording->account.num_events) {
		system.sample_frequency = recording->options->frequency_hz;
		err = timeline_add_string(timeline, recorder_get_event_name(recording->recorder),
					  &system.sample_metric);
	}
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

/* The first clock snapshot is from the start; readers convert times by the last one before them. */
static int fill(const struct recording *recording, struct timeline *timeline)
{
	int err = add_system(recording, timeline);

	if (err)
		return err;
	err = timeline_add_clock(timeline, &recording->start_clocks, NULL);
	if (err)
		return err;
	array_for_each (&recording->later_clocks, clocks) {
		err = timeline_add_clock(timeline, clocks, NULL);
		if (err)
			return err;
	}
	err = recorder_build_trace(recording->recorder, timeline);
	if (err)
		return err;
	return zone_off_cpu_add(timeline);
}

/* Zones have a profile of their own: their weights are durations, not samples. */
static int read_zones(const struct recording *recording, struct timeline *timeline)
{
	struct input_options options = {
		.format = "zones", .is_growing = true, .may_be_empty = true};
	_cleanup_(profile_freep) struct profile *profile = profile_new();

	if (!profile) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	array_for_each (&recording->zones.opened, input) {
		int status;

		options.fd = &input->fd;
		options.bytes_before = input->bytes_before;
		status = inputs_read_file(input->path, &options, profile, timeline, NULL);
		if (status)
			return status;
	}
	return recording->zones.is_incomplete ? EXIT_FAILED : EXIT_DONE;
}

void recorded_trace_open_zones(struct recording *recording)
{
	zones_inputs_open(&recording->zones, recording->options->zones_paths.items,
			  recording->options->zones_paths.length);
}

/* A part of a list: "1 of 5 samples, 3 slices of waits". */
static void append_lack(struct text *list, uint64_t count, const char *kind)
{
	if (count)
		text_printf(list, "%s%" PRIu64 " %s", list->length ? ", " : "", count, kind);
}

/* Report data that could not be written to the recorder's temporary files. */
static int report_losses(const struct trace_losses *losses)
{
	_cleanup_(text_release) struct text list = {0};

	if (losses->lost_renames)
		log_warning("the trace lacks %" PRIu64 " name changes of threads",
			    losses->lost_renames);
	if (!losses->error)
		return EXIT_DONE;
	if (losses->lost_samples)
		text_printf(&list, "%" PRIu64 " of %" PRIu64 " samples", losses->lost_samples,
			    losses->num_samples);
	append_lack(&list, losses->lost_waits, "slices of waits");
	append_lack(&list, losses->lost_occupancies, "slices of stacks");
	append_lack(&list, losses->lost_fills, "values of stack fill");
	append_lack(&list, losses->lost_task_events, "events of threads");
	log_error("the trace lacks %s, which could not be stored in a temporary file: %s; set "
		  "TMPDIR to a directory with room",
		  list.length ? list.data : "data", strerror(losses->error));
	return EXIT_FAILED;
}

int recorded_trace_make(const struct recording *recording, struct timeline **ret)
{
	_cleanup_(timeline_freep) struct timeline *timeline = timeline_new();
	int status = timeline ? read_zones(recording, timeline) : EXIT_DONE;
	struct trace_losses losses;
	int losses_status;
	int err;

	*ret = NULL;
	/* A recording cannot be repeated: if the zones are damaged, it is written without them. */
	if (status) {
		log_warning("the trace is written without zones");
		timeline_free(timeline);
		timeline = timeline_new();
	}
	err = timeline ? fill(recording, timeline) : -ENOMEM;
	if (err) {
		log_error("cannot make the trace: %s", strerror(-err));
		return EXIT_FAILED;
	}
	losses = recorder_get_trace_losses(recording->recorder);
	losses_status = report_losses(&losses);
	if (losses.lost_samples && losses.lost_samples == losses.num_samples)
		return losses_status;
	*ret = return_ptr(timeline);
	return status ? status : losses_status;
}
