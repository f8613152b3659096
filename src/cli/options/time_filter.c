#include "cli/options/time_filter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/options/command.h"
#include "cli/options/options.h"
#include "viewer/times.h"

#define KIND      "time:"
#define NS_PER_MS 1000000ull

bool time_filter_is(const char *filter)
{
	return string_starts_with(filter, KIND);
}

/* "0", "0s": option_read_duration() refuses 0. */
static bool is_zero(const char *moment)
{
	size_t num_zeros = strspn(moment, "0.");
	char unit[33];
	uint64_t ns;

	if (!num_zeros || (moment[num_zeros] >= '1' && moment[num_zeros] <= '9'))
		return false;
	snprintf(unit, sizeof(unit), "1%s", moment + num_zeros);
	return !option_read_duration(unit, &ns);
}

/* Read "1.5s", "0", or nothing. Returns 0 or -EINVAL. */
static int read_moment(const char *text, size_t length, uint64_t otherwise_ms, uint64_t *ret_ms)
{
	char moment[32];
	uint64_t ns = 0;

	*ret_ms = otherwise_ms;
	if (!length)
		return 0;
	if (length >= sizeof(moment))
		return -EINVAL;
	memcpy(moment, text, length);
	moment[length] = '\0';
	if (!is_zero(moment) && option_read_duration(moment, &ns))
		return -EINVAL;
	*ret_ms = ns / NS_PER_MS;
	return 0;
}

static int read_range(const char *range, uint64_t *ret_from, uint64_t *ret_to)
{
	const char *dots = strstr(range, "..");
	char *end;

	if (dots)
		return read_moment(range, (size_t)(dots - range), 0, ret_from) ||
				       read_moment(dots + 2, strlen(dots + 2), UINT64_MAX, ret_to)
			       ? -EINVAL
			       : 0;
	if (!strchr("0123456789", range[0]))
		return -EINVAL;
	*ret_from = strtoull(range, &end, 10);
	if (*end != '-' || !strchr("0123456789", end[1]))
		return -EINVAL;
	*ret_to = strtoull(end + 1, &end, 10);
	return *end ? -EINVAL : 0;
}

int time_filter_add(struct text *lines, const char *filter, bool excludes)
{
	uint64_t from_ms, to_ms;

	if (read_range(filter + strlen(KIND), &from_ms, &to_ms) || from_ms >= to_ms) {
		log_error("--%s: '%.100s' is not a time range: expected time:FROM..TO, as in "
			  "time:2s..5s or time:500ms..",
			  excludes ? "exclude" : "include", filter);
		return -EINVAL;
	}
	text_printf(lines, "%c" KIND "%" PRIu64 "-%" PRIu64 "\n", excludes ? '-' : '+', from_ms,
		    to_ms);
	return lines->failed ? -ENOMEM : 0;
}

enum durations {
	DURATIONS_UNNEEDED, /* nothing was longer than times are apart */
	DURATIONS_MISSING,
	DURATIONS_KNOWN,
};

/* Whether a source lacks the durations of a metric. Without memory there is no warning. */
static bool lacks_durations(const struct profile *profile, uint32_t metric)
{
	const struct timestamps *timestamps = profile_get_timestamps(profile);
	uint64_t resolution_ns = timestamps_get_resolution_ns(timestamps);
	uint32_t num_sources = profile_count_sources(profile);
	_cleanup_free_ uint8_t *durations = calloc((size_t)num_sources + 1, sizeof(*durations));

	for (size_t i = 0; durations && i < timestamps_count(timestamps); i++) {
		const struct timestamp *timestamp = timestamps_get(timestamps, i);
		const struct sample *sample = profile_get_sample(profile, timestamp->sample);
		uint32_t source = profile_get_thread(profile, sample->thread)->source;

		if (sample->metric != metric || source > num_sources)
			continue;
		if (timestamp->duration)
			durations[source] = DURATIONS_KNOWN;
		else if (timestamp->weight > 2 * resolution_ns && !durations[source])
			durations[source] = DURATIONS_MISSING;
	}
	for (uint32_t i = 0; durations && i <= num_sources; i++)
		if (durations[i] == DURATIONS_MISSING)
			return true;
	return false;
}

/* Not every format has the durations of waits and calls. */
static void warn_of_moments(const struct profile *profile)
{
	static const char *const names[] = {METRIC_BLOCKED, "uninterruptible", "syscall-time",
					    "block-io-time", "offcpu-time"};

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		uint32_t metric = profile_find_metric(profile, names[i]);

		if (metric == METRIC_NONE || !lacks_durations(profile, metric))
			continue;
		log_warning("%s counts at its end, as an input has no durations: a range may lack "
			    "its start; record to .html",
			    names[i]);
		return;
	}
}

/* Weight without a time is in no range that selects times. */
static int warn_of_timeless(const struct profile *profile)
{
	const struct timestamps *timestamps = profile_get_timestamps(profile);
	uint32_t num_metrics = profile_count_metrics(profile);
	_cleanup_free_ double *timed = calloc((size_t)num_metrics + 1, sizeof(*timed));
	_cleanup_free_ double *all = calloc((size_t)num_metrics + 1, sizeof(*all));

	if (!timed || !all)
		return -ENOMEM;
	for (size_t i = 0; i < timestamps_count(timestamps); i++) {
		const struct timestamp *timestamp = timestamps_get(timestamps, i);

		timed[profile_get_sample(profile, timestamp->sample)->metric] +=
			(double)timestamp->weight;
	}
	for (uint32_t i = 0; i < profile_count_samples(profile); i++)
		all[profile_get_sample(profile, i)->metric] +=
			(double)profile_get_sample(profile, i)->value;
	for (uint32_t i = 0; i < num_metrics; i++)
		if (timed[i] * 1.000001 < all[i])
			log_warning(
				"%.3g %% of %s has no time and is in no range",
				100 - 100 * timed[i] / all[i],
				profile_get_string(profile, profile_get_metric(profile, i)->name));
	return 0;
}

int time_filter_apply(const char *lines, struct profile *profile)
{
	const struct timestamps *timestamps = profile_get_timestamps(profile);
	_cleanup_free_ uint64_t *values = NULL;
	struct error error = {0};
	int err;

	if (!timestamps || !timestamps_count(timestamps)) {
		log_error("time: the samples of the input have no times; those of .html, "
			  ".pftrace, perf.data, perf script, JFR and Firefox do");
		return EXIT_USAGE;
	}
	err = times_apply(profile, lines, &values, &error);
	if (err) {
		log_error("%s", err == -ENOMEM ? "out of memory" : error.message);
		return err == -ENOMEM ? EXIT_FAILED : EXIT_USAGE;
	}
	warn_of_moments(profile);
	if (strchr(lines, '+') && warn_of_timeless(profile)) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	for (uint32_t i = 0; values && i < profile_count_samples(profile); i++)
		profile_set_sample_value(profile, i, values[i]);
	return EXIT_DONE;
}
