/*
 * An input that only becomes a trace is converted in passes and is never in memory as a whole.
 * zones_conversion_run() decides whether that is possible: a regular file (it is read three times),
 * not compressed, of zones, to one output that is a trace. All others are read like any input.
 *
 * The size is taken once. A program that goes on writing zones makes the file longer meanwhile, but
 * all passes must see the same bytes.
 */
#include "cli/files/zones_conversion.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/output_file.h"
#include "base/utf16.h"
#include "cli/files/trace_hint.h"
#include "cli/options/command.h"
#include "cli/options/progress.h"
#include "formats/compression.h"
#include "formats/perfetto.h"
#include "formats/zones.h"

/* Bytes read to detect the format of the input. */
#define FIRST_BYTES (1u << 20)

struct zones_file_conversion {
	const char *path;
	int fd;
	uint64_t size; /* at the start: somebody may still be writing */
	uint64_t left;
	int spill_fd; /* -1: everything fitted into memory so far */
	uint64_t spilled;
	struct output_file *file;
	enum compression compression; /* of the whole output */
	struct progress progress;
	struct error error;
};

/* ---- the input ---------------------------------------------------------------------------- */

static int rewind_input(void *context)
{
	struct zones_file_conversion *conversion = context;

	conversion->left = conversion->size;
	if (lseek(conversion->fd, 0, SEEK_SET) == 0)
		return 0;
	return error_set(&conversion->error, -errno, "cannot read '%s': %m", conversion->path);
}

/* Returns 0 bytes at the end that the file had at the start. */
static int read_input(void *context, void *data, size_t size, size_t *ret_size)
{
	struct zones_file_conversion *conversion = context;
	ssize_t got;

	if (size > conversion->left)
		size = (size_t)conversion->left;
	do
		got = read(conversion->fd, data, size);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return error_set(&conversion->error, -errno, "cannot read '%s': %m",
				 conversion->path);
	conversion->left -= (uint64_t)got;
	*ret_size = (size_t)got;
	return 0;
}

/* ---- data beyond the memory limit --------------------------------------------------------- */

static int report_spill(struct zones_file_conversion *conversion, int err)
{
	return error_set(&conversion->error, err,
			 "cannot sort in a temporary file in '%s': %s; set TMPDIR to a "
			 "directory with room",
			 file_get_temporary_folder(), strerror(-err));
}

/* The file is created on first use: most inputs fit into memory. */
static int append_spill(void *context, const void *data, size_t size, uint64_t *ret_offset)
{
	struct zones_file_conversion *conversion = context;
	int err;

	if (conversion->spill_fd < 0) {
		conversion->spill_fd =
			file_open_anonymous(file_get_temporary_folder(), &conversion->error);
		if (conversion->spill_fd < 0)
			return conversion->spill_fd;
	}
	err = file_write_at(conversion->spill_fd, data, size, conversion->spilled);
	if (err)
		return report_spill(conversion, err);
	*ret_offset = conversion->spilled;
	conversion->spilled += size;
	return 0;
}

static int read_spill(void *context, uint64_t offset, void *data, size_t size)
{
	struct zones_file_conversion *conversion = context;
	int err = file_read_range(conversion->spill_fd, data, size, offset);

	return err ? report_spill(conversion, err) : 0;
}

/* ---- the conversion ----------------------------------------------------------------------- */

static int write_output(void *context, const void *data, size_t size)
{
	struct zones_file_conversion *conversion = context;
	int err = output_file_write(conversion->file, data, size);

	return err ? error_set(&conversion->error, err, "cannot write '%s': %s",
			       output_file_get_path(conversion->file), strerror(-err))
		   : 0;
}

static void warn(void *context, const char *line)
{
	struct zones_file_conversion *conversion = context;

	progress_clear(&conversion->progress);
	log_warning("%s", line);
}

static void advance(void *context, size_t consumed)
{
	struct zones_file_conversion *conversion = context;

	if (progress_is_due(&conversion->progress) &&
	    clock_now_ns() - conversion->progress.start_ns > NS_PER_SECOND)
		progress_print(&conversion->progress, "converting %s: %zu of %llu MB",
			       conversion->path, consumed >> 20,
			       (unsigned long long)conversion->size >> 20);
}

static int fail(const struct zones_file_conversion *conversion, int err)
{
	log_error("%s", conversion->error.message[0] ? conversion->error.message : strerror(-err));
	return EXIT_FAILED;
}

static int convert(struct zones_file_conversion *conversion, const struct input_options *options,
		   bool is_compressed)
{
	struct zones_source source = {rewind_input, read_input, conversion};
	struct record_store store = {append_spill, read_spill, conversion};
	struct sink file_sink = {write_output, conversion};
	_cleanup_(compressing_sink_freep) struct compressing_sink *sink = NULL;
	struct import import = {
		.name = conversion->path,
		.is_strict = options->is_strict,
		.is_lenient = options->is_lenient,
		.warn = warn,
		.advance = advance,
		.context = conversion,
	};
	int err = compressing_sink_new(conversion->compression, &file_sink, &sink);

	if (!err) {
		err = perfetto_write_zones(&import, &source, &store,
					   is_compressed &&
						   conversion->compression == COMPRESSION_NONE,
					   compressing_sink_get(sink));
		err = err ? err : compressing_sink_finish(sink);
	}
	import_report_malformed(&import);
	progress_clear(&conversion->progress);
	/* The importer reports errors of the content, the conversion errors of the system. */
	if (err && import.error.message[0]) {
		log_error("%s", import.error.message);
		return EXIT_BAD_INPUT;
	}
	if (err)
		return fail(conversion, err);
	err = output_file_commit(conversion->file, &conversion->error);
	if (err)
		return fail(conversion, err);
	trace_hint_warn(output_file_get_path(conversion->file), import.counts.records);
	log_debug("%s: zones, %llu records, %llu skipped; %llu bytes sorted on disk",
		  conversion->path, (unsigned long long)import.counts.records,
		  (unsigned long long)import.counts.skipped,
		  (unsigned long long)conversion->spilled);
	return EXIT_DONE;
}

/* ---- whether it is one -------------------------------------------------------------------- */

/* A compressed or UTF-16 file must be converted as a whole, in memory. */
static bool is_file_of_zones(int fd, const char *path, const struct input_options *options)
{
	_cleanup_free_ uint8_t *bytes = malloc(FIRST_BYTES);
	ssize_t got = bytes ? pread(fd, bytes, FIRST_BYTES, 0) : 0;
	bool is_big_endian;

	if (got <= 0 || compression_detect(bytes, (size_t)got) != COMPRESSION_NONE ||
	    utf16_has_mark(bytes, (size_t)got, &is_big_endian))
		return false;
	return options->format || format_detect(path, bytes, (size_t)got) == &format_zones;
}

static bool is_trace(const struct outputs *outputs)
{
	return outputs->length == 1 && outputs->items[0].format == &format_pftrace;
}

bool zones_conversion_run(const char *path, const struct input_options *options,
			  struct outputs *outputs, bool is_compressed, int *ret_status)
{
	_cleanup_close_ int fd = -1;
	struct zones_file_conversion conversion = {.path = path, .spill_fd = -1};
	struct stat status;

	if (!is_trace(outputs) || options->metric || string_equals(path, "-") ||
	    (options->format && format_find_name(options->format) != &format_zones))
		return false;
	if (stat(path, &status) || !S_ISREG(status.st_mode))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !is_file_of_zones(fd, path, options))
		return false;
	conversion.fd = fd;
	conversion.size = (uint64_t)status.st_size;
	conversion.file = outputs->items[0].file;
	conversion.compression = outputs->items[0].compression;
	progress_init(&conversion.progress);
	*ret_status = convert(&conversion, options, is_compressed);
	if (conversion.spill_fd >= 0)
		close(conversion.spill_fd);
	return true;
}
