/*
 * The output files of a command, each with its format. They are opened before the work starts, so
 * that an unwritable folder is noticed at once.
 */
#ifndef CLI_FILES_OUTPUTS_H
#define CLI_FILES_OUTPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "base/output_file.h"
#include "formats/compression.h"
#include "formats/format.h"

struct fd_list;

/* As requested by the user. */
struct output_request {
	const char *path;   /* NULL: generate a name */
	const char *format; /* of --to; NULL: by extension */
};

struct output {
	const struct format *format;
	enum compression compression; /* of the whole file, by the suffix of its name */
	struct output_file *file;
	bool has_failed; /* in outputs_fill_each(): it will not appear */
};

/* A plain array, so that the stopper can walk it at any moment. */
struct outputs {
	struct output *items;
	size_t length;
};

/*
 * Find the format of every request.
 *
 * Returns 0, or -EINVAL with the reason in error (unknown format or extension).
 */
_must_check_ int outputs_init(struct outputs *outputs, const struct output_request *requests,
			      size_t num_requests, struct error *error);
/*
 * Open all files.
 *
 * number  from 1, inserted before the extensions: profile.2.folded; 0: none
 * mode    as of output_file_open()
 *
 * Returns 0 or negative errno with the reason in error.
 */
_must_check_ int outputs_open(struct outputs *outputs, const struct output_request *requests,
			      uint32_t number, mode_t mode, struct error *error);
/* Whether some output shows times, so that it needs a timeline. */
bool outputs_have_times(const struct outputs *outputs);
/* Whether it contains one metric, or shows one of all its metrics, so that one must be chosen. */
bool output_shows_chosen_metric(const struct output *output);
/* Whether every output shows all metrics of a profile, so that no choice is needed. */
bool outputs_have_all_metrics(const struct outputs *outputs);
/* The format of an output that contains only this metric, or NULL. */
const struct format *outputs_find_metric(const struct outputs *outputs, const char *metric);
/* Whether some output has the samples' timestamps, so that the profile must keep them. */
bool outputs_have_timestamps(const struct outputs *outputs);
/* Give up the open files and whatever was written, but keep the formats. */
void outputs_close(struct outputs *outputs);
/*
 * Write the profile to all. Returns 0 or negative errno with error; -EOVERFLOW if the profile's
 * weights cannot be written.
 */
_must_check_ int outputs_fill(struct outputs *outputs, const struct profile *profile,
			      const struct format_opts *opts, struct error *error);
/*
 * The same for a recording, which cannot be repeated: an output that fails is reported and marked,
 * and the others are written all the same. Marked ones are skipped. Returns the number of marked ones.
 */
size_t outputs_fill_each(struct outputs *outputs, const struct profile *profile,
			 const struct format_opts *opts);
/* The descriptors that filling them needs (base/confinement.h). */
void outputs_add_fds(const struct outputs *outputs, struct fd_list *fds);
/* Whether no output is a pipe or a device. */
bool outputs_can_rewind(const struct outputs *outputs);
/* Discard everything written so far. Returns 0, or negative errno if that is impossible. */
_must_check_ int outputs_rewind(struct outputs *outputs);
/* Make all appear. Returns 0 or negative errno with error. */
_must_check_ int outputs_commit(struct outputs *outputs, struct error *error);
/* Both. */
_must_check_ int outputs_write(struct outputs *outputs, const struct profile *profile,
			       const struct format_opts *opts, struct error *error);
/* Without outputs_write(), nothing of them remains. */
void outputs_release(struct outputs *outputs);

/* Async-signal-safe: remove temporary names. NULL is fine. */
void outputs_abandon(const struct outputs *outputs);

/* Open a further file of the same kind: output_file_open() with a number before the extension. */
_must_check_ int output_file_open_numbered(const char *path, uint32_t number, mode_t mode,
					   struct output_file **ret, struct error *error);

/* "stackwide-HOST-YYYYmmddTHHMMSS.EXT", local time. NULL when out of memory; the caller frees. */
char *outputs_make_name(const char *extension);

#endif
