/*
 * The tags of a slice of XML, one after the other. Nesting is not checked, and nothing is
 * allocated: a scanner for readers that look for a few elements in foreign files.
 */
#ifndef FORMATS_XML_SCANNER_H
#define FORMATS_XML_SCANNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* Bytes of the input; not NUL-terminated. */
struct xml_slice {
	const char *data;
	size_t length;
};

struct xml_scanner {
	const char *data; /* borrowed */
	size_t size;
	size_t offset; /* of the next byte to look at */
};

struct xml_tag {
	size_t offset;   /* of its `<` */
	bool is_closing; /* </name> */
	struct xml_slice name;
	struct xml_slice attributes; /* undecoded */
	struct xml_slice before;     /* the text between the tag before and this one */
};

static inline struct xml_scanner xml_scan(const uint8_t *data, size_t size)
{
	return (struct xml_scanner){.data = (const char *)data, .size = size};
}

/*
 * The next tag. Comments, CDATA sections, declarations and processing instructions are skipped.
 * False at the end of the input, or if a tag or comment is not closed.
 */
bool xml_next_tag(struct xml_scanner *scanner, struct xml_tag *ret);

bool xml_slice_equals(struct xml_slice slice, const char *string);
/* The value of an attribute, with references (&lt;) undecoded. */
bool xml_find_attribute(const struct xml_tag *tag, const char *name, struct xml_slice *ret);

/* Append with &lt; &gt; &amp; &quot; &apos; and numbers replaced; other references are kept. */
void xml_decode(struct text *text, struct xml_slice slice);

#endif
