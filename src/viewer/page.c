/*
 * The page has an empty script element of id "profile"; a profile is put into it as text (native.h).
 */
#include "viewer/page.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "formats/format.h"
#include "formats/native.h"
#include "formats/reader.h"
#include "formats/svg.h"

#define SLOT_START "<script type=\"text/plain\" id=\"profile\">"

/* The file made by the Makefile, and its size. */
__asm__(".section .rodata\n"
	".global viewer_page\n"
	".global viewer_page_size\n"
	"viewer_page:\n"
	".incbin \"" VIEWER_PAGE "\"\n"
	"viewer_page_end:\n"
	".byte 0\n"
	".balign 8\n"
	"viewer_page_size:\n"
	".quad viewer_page_end - viewer_page\n"
	".previous\n");

extern const char viewer_page[];
extern const uint64_t viewer_page_size;

/* A build without the viewer's tools has an empty file. */
bool viewer_page_exists(void)
{
	return viewer_page_size > 0;
}

int viewer_page_write_empty(const struct sink *sink)
{
	if (!viewer_page_exists())
		return -ENOTSUP;
	return sink->write(sink->context, viewer_page, viewer_page_size);
}

/*
 * Append an attribute's value. The title is a file's name, and foreign: it must not end the
 * attribute or the tag.
 */
static void append_attribute(struct text *text, const char *value)
{
	for (; *value; value++) {
		if (*value == '"')
			text_append_string(text, "&quot;");
		else if (*value == '&')
			text_append_string(text, "&amp;");
		else if (*value == '<')
			text_append_string(text, "&lt;");
		else if (*value == '>')
			text_append_string(text, "&gt;");
		else
			text_append_char(text, *value);
	}
}

int viewer_page_write(const struct profile *profile, const char *title, const struct sink *sink)
{
	_cleanup_(text_release) struct text tag = {0};
	const char *slot = memmem(viewer_page, viewer_page_size, SLOT_START, strlen(SLOT_START));
	const char *rest;
	int err;

	if (!slot)
		return -ENOTSUP;
	rest = slot + strlen(SLOT_START);
	text_append_string(&tag, "<script type=\"text/plain\" id=\"profile\" data-name=\"");
	append_attribute(&tag, title ? title : "profile");
	text_append_string(&tag, "\">");
	if (tag.failed)
		return -ENOMEM;
	err = sink->write(sink->context, viewer_page, (size_t)(slot - viewer_page));
	if (err)
		return err;
	err = sink->write(sink->context, tag.data, tag.length);
	if (err)
		return err;
	err = native_write_text(profile, &(struct native_opts){.has_times = true}, sink);
	if (err)
		return err;
	return sink->write(sink->context, rest, viewer_page_size - (size_t)(rest - viewer_page));
}

/* Write "recording of 2026-11-21 16:39", local time. False if the profile is no recording. */
static bool name_recording(const struct profile *profile, char *ret, size_t size)
{
	const struct sampling *sampling =
		provenance_find_sampling(profile_get_provenance(profile), 0);
	time_t start = sampling ? (time_t)(sampling->start_ns / 1000000000) : 0;
	struct tm local;

	return start && localtime_r(&start, &local) &&
	       strftime(ret, size, "recording of %Y-%m-%d %H:%M", &local) > 0;
}

static int write_html(const struct profile *profile, const struct format_opts *opts,
		      const struct sink *sink)
{
	const char *title = opts->svg ? opts->svg->title : NULL;
	char recording[64];

	if (!title && profile_count_sources(profile) == 1)
		title = path_basename(profile_get_string(profile, profile_get_source(profile, 0)));
	if ((!title || !*title) && name_recording(profile, recording, sizeof(recording)))
		title = recording;
	return viewer_page_write(profile, title && *title ? title : NULL, sink);
}

const struct format format_html = {
	.name = "html",
	.extension = ".html",
	.is_compressed = true,
	.summary = "the viewer with the profile: one page for any browser",
	.has_timestamps = true,
	.has_all_metrics = true,
	.holds_comparison = true,
	.has_threads = true,
	.has_lines = true,
	.write = write_html,
	.detect = html_detect,
	.read = html_read,
};
