/*
 * Reading our own pages: the viewer with a profile in it, as `view`, `record` and the page itself
 * write them. The profile is in a script element that browsers do not run, as base64 of gzip of the
 * block that flame graphs have as well (native.h). Its first line holds its version, so an older
 * program can refuse a page instead of misreading it.
 *
 * base/inflate.h rather than zlib, because this reader is part of the page itself.
 */
#include <errno.h>
#include <string.h>

#include "base/inflate.h"
#include "formats/reader.h"
#include "formats/slice.h"

/* The page's style and markup are before the slot, and less than that. */
#define DETECTION_BYTES 262144
#define PROLOGUE_BYTES  1024
/* A profile is about 10 times as large as its gzip; a hostile page would expand to any size. */
#define DECOMPRESS_RATIO      50
#define DECOMPRESS_FREE_BYTES (64u << 20)

static const char slot[] = "<script type=\"text/plain\" id=\"profile\"";

/* The text of the script element. '>' inside of an attribute's quotes does not end the tag. */
static bool find_slot(const struct import *import, size_t *ret_begin, size_t *ret_end)
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
	*ret_begin = (size_t)(at - data);
	at = memchr(at, '<', (size_t)(end - at));
	*ret_end = at ? (size_t)(at - data) : import->size;
	return true;
}

static int get_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static int decode(struct import *import, size_t begin, size_t end, struct text *ret)
{
	uint32_t bits = 0;
	unsigned int num_bits = 0;

	for (size_t i = begin; i < end; i++) {
		char c = (char)import->data[i];
		int digit = get_digit(c);

		if (is_blank_char(c) || c == '=')
			continue;
		if (digit < 0)
			return import_fail_byte(import, i, "expected base64");
		bits = bits << 6 | (uint32_t)digit;
		num_bits += 6;
		if (num_bits < 8)
			continue;
		num_bits -= 8;
		text_append_char(ret, (char)(bits >> num_bits));
	}
	return ret->failed ? -ENOMEM : 0;
}

static int decompress(struct import *import, size_t begin, struct text *compressed,
		      struct text *ret)
{
	struct bytes bytes = bytes_of(compressed->data, compressed->length);
	size_t limit = compressed->length > SIZE_MAX / DECOMPRESS_RATIO - DECOMPRESS_FREE_BYTES
			       ? SIZE_MAX
			       : compressed->length * DECOMPRESS_RATIO + DECOMPRESS_FREE_BYTES;
	int err = inflate_decompress(&bytes, INFLATE_GZIP, limit, ret);

	if (err == -EFBIG)
		return import_fail_byte(import, begin,
					"the profile in the page expands to over %d times its size",
					DECOMPRESS_RATIO);
	if (err == -EBADMSG)
		return import_fail_byte(import, begin,
					"the profile in the page is damaged or truncated");
	return err;
}

/* The block is what the SVG reader looks for: let it read this as if it was such a file. */
static int read_block(struct import *import, const struct text *block)
{
	_cleanup_(text_release) struct text name = {0};
	struct import inner = *import;
	int err;

	text_printf(&name, "%.200s (profile)", import->name);
	if (name.failed)
		return -ENOMEM;
	inner.name = name.data;
	inner.data = (const uint8_t *)block->data;
	inner.size = block->length;
	inner.advance = NULL; /* its offsets are not the page's */
	err = svg_read(&inner);
	import->counts = inner.counts;
	import->error = inner.error;
	return err;
}

int html_read(struct import *import)
{
	_cleanup_(text_release) struct text compressed = {0};
	_cleanup_(text_release) struct text block = {0};
	size_t begin = 0;
	size_t end = 0;
	int err;

	if (!find_slot(import, &begin, &end))
		return import_fail_byte(import, 0, "expected a page of stackwide's viewer");
	err = decode(import, begin, end, &compressed);
	if (err)
		return err;
	if (!compressed.length)
		return import_fail_byte(import, begin,
					"the page is the viewer alone: there is no profile in it");
	err = decompress(import, begin, &compressed, &block);
	text_release(&compressed);
	if (err)
		return err;
	return read_block(import, &block);
}

enum detection html_detect(const uint8_t *data, size_t size)
{
	struct slice page = {(const char *)data, size < DETECTION_BYTES ? size : DETECTION_BYTES};
	struct slice prologue = {page.start,
				 page.length < PROLOGUE_BYTES ? page.length : PROLOGUE_BYTES};

	return slice_contains(prologue, "<html") && slice_contains(page, slot) ? DETECTED_SURE
									       : DETECTED_NOT;
}

/* Writing takes the viewer: viewer/page.h. */
const struct format format_page = {
	.name = "html",
	.extension = ".html",
	.summary = "the viewer with the profile in it: one page, for any browser",
	.detect = html_detect,
	.read = html_read,
};
