/* Helpers shared by writers. Not in format.c, since that links all of them into any user. */
#include <errno.h>

#include "formats/format.h"

#define DRAIN_BYTES 262144

const char *format_get_metric_name(const struct profile *profile, uint32_t metric)
{
	if (metric >= profile_count_metrics(profile))
		return "";
	return profile_get_string(profile, profile_get_metric(profile, metric)->name);
}

const char *format_get_metric_unit(const struct profile *profile, uint32_t metric)
{
	if (metric >= profile_count_metrics(profile))
		return "";
	return profile_get_string(profile, profile_get_metric(profile, metric)->unit);
}

int sink_flush(const struct sink *sink, struct text *text)
{
	int err = 0;

	if (text->failed)
		err = -ENOMEM;
	else if (text->length)
		err = sink->write(sink->context, text->data, text->length);
	text_truncate(text, 0);
	return err;
}

int sink_drain(const struct sink *sink, struct text *text)
{
	return text->failed || text->length >= DRAIN_BYTES ? sink_flush(sink, text) : 0;
}
