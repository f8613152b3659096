#include "cli/files/unused_inputs.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "formats/format.h"

/* An archive may have thousands of captures. */
#define MAX_WARNINGS 5

enum use { USE_NONE, USE_OTHER, USE_CHOSEN };

static uint32_t get_source(const struct profile *profile, const struct sample *sample)
{
	return profile_get_thread(profile, sample->thread)->source;
}

static void find_uses(const struct profile *profile, uint32_t metric, uint32_t baseline,
		      uint8_t *uses)
{
	for (uint32_t i = 0; i < profile_count_samples(profile); i++) {
		const struct sample *sample = profile_get_sample(profile, i);
		uint32_t source = get_source(profile, sample);
		bool is_chosen = sample->metric == metric || sample->metric == baseline;

		if (!sample->value || source >= profile_count_sources(profile))
			continue;
		if (is_chosen)
			uses[source] = USE_CHOSEN;
		else if (uses[source] == USE_NONE)
			uses[source] = USE_OTHER;
	}
}

/* Append "cpu, alloc_space": the metrics of the source. */
static void append_metrics(struct text *names, const struct profile *profile, uint32_t source,
			   uint8_t *has_weight)
{
	memset(has_weight, 0, profile_count_metrics(profile));
	for (uint32_t i = 0; i < profile_count_samples(profile); i++) {
		const struct sample *sample = profile_get_sample(profile, i);

		if (sample->value && get_source(profile, sample) == source)
			has_weight[sample->metric] = true;
	}
	for (uint32_t i = 0; i < profile_count_metrics(profile); i++)
		if (has_weight[i])
			text_printf(names, "%s%s", names->length ? ", " : "",
				    format_get_metric_name(profile, i));
}

static void warn_of(const struct profile *profile, uint32_t source, const char *metric,
		    const char *verb, uint8_t *has_weight)
{
	_cleanup_(text_release) struct text names = {0};

	append_metrics(&names, profile, source, has_weight);
	log_warning("%s adds nothing: it has the metric%s %s, and %s is %s; --metric "
		    "selects another",
		    profile_get_string(profile, profile_get_source(profile, source)),
		    names.data && strchr(names.data, ',') ? "s" : "",
		    names.data && !names.failed ? names.data : "", metric, verb);
}

/* Without memory there is no warning: the code that writes the profile reports that. */
void unused_inputs_warn(const struct profile *profile, uint32_t metric, uint32_t baseline,
			const char *verb)
{
	uint32_t num_sources = profile_count_sources(profile);
	uint32_t num_metrics = profile_count_metrics(profile);
	_cleanup_free_ uint8_t *uses = NULL;
	_cleanup_free_ uint8_t *has_weight = NULL;
	uint32_t num_unused = 0;

	if (num_sources < 2 || num_metrics < 2)
		return;
	uses = calloc(num_sources, sizeof(*uses));
	has_weight = calloc(num_metrics, sizeof(*has_weight));
	if (!uses || !has_weight)
		return;
	find_uses(profile, metric, baseline, uses);
	for (uint32_t i = 0; i < num_sources; i++)
		if (uses[i] == USE_OTHER && num_unused++ < MAX_WARNINGS)
			warn_of(profile, i, format_get_metric_name(profile, metric), verb,
				has_weight);
	if (num_unused > MAX_WARNINGS)
		log_warning("%u more inputs add nothing", num_unused - MAX_WARNINGS);
}
