/*
 * The formats we write, one line each in a table: found by name or by a file's extension.
 *
 * Bytes go out through a sink, so that formats neither open files nor know where they write.
 */
#ifndef FORMATS_FORMAT_H
#define FORMATS_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/call_tree.h"
#include "base/attributes.h"
#include "base/text.h"
#include "profile/profile.h"

/* write() takes all bytes and returns 0, or negative errno. */
struct sink {
	int (*write)(void *context, const void *data, size_t size);
	void *context;
};

struct format_opts {
	struct call_tree_opts tree;
};

struct format {
	const char *name;      /* for --to */
	const char *extension; /* with its dot */
	const char *summary;   /* for the help */
	/* Returns 0, -ENOMEM, or what the sink returned. */
	int (*write)(const struct profile *profile, const struct format_opts *opts,
		     const struct sink *sink);
};

/* NULL when there is none. */
const struct format *format_find_name(const char *name);
/* By the longest extension that the path ends in. */
const struct format *format_find_path(const char *path);
/* All of them, ended by NULL. */
const struct format *const *format_get_all(void);

extern const struct format format_folded;
extern const struct format format_text;

/*
 * A buffer in front of a sink: bytes are appended to `text` and go out when there are many.
 * sink_flush() passes on what is left.
 */
_must_check_ int sink_drain(const struct sink *sink, struct text *text);
_must_check_ int sink_flush(const struct sink *sink, struct text *text);

#endif
