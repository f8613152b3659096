#include "cli/options/progress.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"

#define INTERVAL_NS (250 * NS_PER_MS)

void progress_init(struct progress *progress)
{
	*progress = (struct progress){
		.is_shown = isatty(STDERR_FILENO) && log_get_level() != LOG_LEVEL_QUIET,
		.start_ns = clock_now_ns(),
	};
}

bool progress_is_due(const struct progress *progress)
{
	return progress->is_shown && clock_now_ns() >= progress->next_ns;
}

void progress_print(struct progress *progress, const char *format, ...)
{
	va_list arguments;

	if (!progress->is_shown)
		return;
	fputs("\r\033[K", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fflush(stderr);
	progress->has_line = true;
	progress->next_ns = clock_now_ns() + INTERVAL_NS;
}

void progress_clear(struct progress *progress)
{
	if (progress->has_line)
		fputs("\r\033[K", stderr);
	progress->has_line = false;
}
