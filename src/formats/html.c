/*
 * Reading our own pages: the viewer with a profile in it, as `view`, `record` and the page itself
 * write them. The profile is in a script element that browsers do not run, as base64 of gzip of the
 * packed profile (native.h).
 */
#include <errno.h>
#include <string.h>

#include "formats/native.h"
#include "formats/reader.h"
#include "formats/slice.h"

/* The page's style and markup are before the slot, and less than that. */
#define DETECTION_BYTES 262144
#define PROLOGUE_BYTES  1024

static const char slot[] = "<script type=\"text/plain\" id=\"profile\"";
static const char title[] = "<title>stackwide</title>";

/* The text of the script element. '>' inside of an attribute's quotes does not end the tag. */
static bool find_slot(const struct import *import, size_t *ret_start, size_t *ret_end)
{
	const char *data = (const char *)import->data;
	const char *end = data + import->size;
	const char *at = import->size ? memmem(data, import->size, slot, strlen(slot)) : NULL;
	bool is_quoted = false;

	if (!at)
		return false;
	for (at += strlen(slot); at < end && (is_quoted || *at != '>'); at++)
		is_quoted ^= *at == '"';
	if (at == end)
		return false;
	at++;
	*ret_start = (size_t)(at - data);
	at = memchr(at, '<', (size_t)(end - at));
	*ret_end = at ? (size_t)(at - data) : import->size;
	return true;
}

static bool is_blank(const struct import *import, size_t start, size_t end)
{
	while (start < end && is_blank_char((char)import->data[start]))
		start++;
	return start == end;
}

int html_read(struct import *import)
{
	size_t start = 0;
	size_t end = 0;

	if (!find_slot(import, &start, &end))
		return import_fail_byte(import, import->size,
					"expected the profile of a page of stackwide's viewer");
	if (end < import->size &&
	    memmem(import->data + end, import->size - end, slot, strlen(slot)))
		return import_fail_byte(import, end, "another page follows: use a file for each");
	if (is_blank(import, start, end))
		return import_fail_byte(import, start, "the page is the viewer without a profile");
	return native_read_text(import, start, end);
}

enum detection html_detect(const uint8_t *data, size_t size)
{
	struct slice page = {(const char *)data, size < DETECTION_BYTES ? size : DETECTION_BYTES};
	struct slice prologue = {page.start,
				 page.length < PROLOGUE_BYTES ? page.length : PROLOGUE_BYTES};

	if (!slice_contains(prologue, "<html"))
		return DETECTED_NOT;
	if (slice_contains(page, slot))
		return DETECTED_SURE;
	/* A page truncated before its profile. */
	return slice_contains(prologue, title) ? DETECTED_MAYBE : DETECTED_NOT;
}

/* Writing takes the viewer: viewer/page.h. */
const struct format format_page = {
	.name = "html",
	.extension = ".html",
	.summary = "the viewer with the profile: one page for any browser",
	.detect = html_detect,
	.read = html_read,
};
