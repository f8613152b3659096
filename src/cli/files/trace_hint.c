#include "cli/files/trace_hint.h"

#include <inttypes.h>
#include <string.h>

#include "base/log.h"

/*
 * The page keeps the whole trace in the memory of WebAssembly, a few GB: enough for about this many
 * events. The same program outside of the browser can use all memory.
 */
#define MAX_EVENTS_OF_BROWSER 10000000u

static bool is_plain(const char *path)
{
	return strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			    "/._-+,:=@%") == strlen(path);
}

/* Quoted for a shell. */
static void append_quoted(struct text *text, const char *path)
{
	if (is_plain(path)) {
		text_append_string(text, path);
		return;
	}
	text_append_char(text, '\'');
	for (; *path; path++) {
		if (*path == '\'')
			text_append_string(text, "'\\'");
		text_append_char(text, *path);
	}
	text_append_char(text, '\'');
}

bool trace_hint_append(struct text *text, const char *path, uint64_t num_events)
{
	if (num_events <= MAX_EVENTS_OF_BROWSER)
		return false;
	text_printf(text,
		    "the trace has %" PRIu64
		    " million events, which may exceed the memory of a browser; start "
		    "'trace_processor --httpd ",
		    num_events / 1000000);
	append_quoted(text, path[0] == '-' && !path[1] ? "FILE" : path);
	text_append_string(text, "' (from https://get.perfetto.dev/trace_processor), then open "
				 "ui.perfetto.dev, which uses it");
	return true;
}

void trace_hint_warn(const char *path, uint64_t num_events)
{
	_cleanup_(text_release) struct text text = {0};

	if (trace_hint_append(&text, path, num_events) && !text.failed)
		log_warning("%s", text.data);
}
