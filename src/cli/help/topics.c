#include "cli/help/topics.h"

#include "base/text.h"

/* Made of packaging/docs/ by the Makefile. */
#include "cli/help/archive.md.h"
#include "cli/help/benchmarks.md.h"
#include "cli/help/comparing.md.h"
#include "cli/help/events.md.h"
#include "cli/help/formats.md.h"
#include "cli/help/kernels.md.h"
#include "cli/help/languages.md.h"
#include "cli/help/limits.md.h"
#include "cli/help/perf.md.h"
#include "cli/help/security.md.h"
#include "cli/help/traces.md.h"
#include "cli/help/waiting.md.h"

/* clang-format off */
static const struct topic topics[] = {
	{"waiting", help_waiting_md},
	{"events", help_events_md},
	{"traces", help_traces_md},
	{"archive", help_archive_md},
	{"comparing", help_comparing_md},
	{"languages", help_languages_md},
	{"formats", help_formats_md},
	{"limits", help_limits_md},
	{"kernels", help_kernels_md},
	{"security", help_security_md},
	{"benchmarks", help_benchmarks_md},
	{"perf", help_perf_md},
	{0},
};
/* clang-format on */

const struct topic *topic_get_all(void)
{
	return topics;
}

const struct topic *topic_find(const char *name)
{
	for (const struct topic *topic = topics; topic->name; topic++)
		if (string_equals(topic->name, name))
			return topic;
	return NULL;
}
