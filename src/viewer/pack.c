/* The block of our own format, in as much of an SVG file as its reader looks for. */
#include "viewer/pack.h"

#include <string.h>

#include "formats/native.h"

static int write_string(const struct sink *sink, const char *string)
{
	return sink->write(sink->context, string, strlen(string));
}

int pack_write(const struct profile *profile, const uint8_t *is_left_out, const struct sink *sink)
{
	int err = write_string(sink, "<svg xmlns=\"http://www.w3.org/2000/svg\">\n");

	if (err)
		return err;
	err = native_write_times(profile, is_left_out, sink);
	return err ? err : write_string(sink, "</svg>\n");
}
