/*
 * Experiments of Oracle Studio and gprofng. `gprofng collect app` writes a directory:
 *
 *	test.1.er/
 *	  log.xml          the process, its threads, the layout of packets       read_log.c
 *	  map.xml          mappings over time                                    read_map.c
 *	  jclasses         names of Java methods                                 read_java.c
 *	  profile, heaptrace, iotrace, synctrace, hwcounters, …
 *	                   samples as packets, one file for each kind of data    read_packets.c,
 *	                                                                         read_metrics.c
 *	  data.frameinfo   stacks by number                                      read_stacks.c
 *	  archives/        copies of programs and libraries                      read_archives.c
 *	  _f1.er/          the same again for a process that this one forked
 *
 * A packet is a header of 4 bytes and fields, whose names and offsets are in log.xml: the kernel's
 * thread id, the time, the number of a stack, and the values that the kind of data measures. There
 * are no names of functions, only addresses, so map.xml and the mapped files are needed to
 * symbolize; the copies in archives/ are used if the originals are gone.
 *
 * Every directory of the input with a log.xml is an experiment. All are merged into one profile, as
 * gprofng does, each with its own process. Since users move experiments with tar, an archive of
 * such directories is read as well (read_files.c).
 *
 * Limits: a forked process has no command line of its own, and an experiment that was ended by a
 * signal lacks the end of its files.
 *
 * Source: binutils, gprofng; Oracle Developer Studio, the manual pages of collect and er_print.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/format.h"
#include "formats/gprofng/read_archives.h"
#include "formats/gprofng/read_files.h"
#include "formats/gprofng/read_java.h"
#include "formats/gprofng/read_log.h"
#include "formats/gprofng/read_map.h"
#include "formats/gprofng/read_metrics.h"
#include "formats/gprofng/read_packets.h"
#include "formats/gprofng/read_stacks.h"
#include "formats/import.h"
#include "formats/reader.h"

#define LOG_NAME "log.xml"

struct known_thread {
	uint64_t tid;
	uint32_t thread; /* of the profile */
};
INTERN_TABLE(known_thread_table, struct known_thread, tid);

/* The location of an experiment. */
struct folder {
	const char *path; /* with its slash; "" at the top of the input */
	size_t length;
	size_t founder_length; /* of the part that is the directory of the first process */
};

/* The experiments of an import. */
struct experiments {
	struct import *import;
	struct gprofng_files files;
	struct gprofng_modules modules;
	ARRAY(struct folder) folders; /* the first process before those that it started */
	uint32_t comm;                /* of the first process */
};

/* The reader of an experiment. */
struct gprofng_reader {
	struct import *import;
	struct experiments *experiments;
	struct gprofng_files *files;
	const char *folder; /* with its slash; "" at the top of the input */
	size_t folder_length;
	struct gprofng_log log;
	struct gprofng_map map;
	struct gprofng_java java;
	struct gprofng_stacks stacks;
	struct gprofng_metrics metrics;
	uint32_t process;
	struct known_thread_table threads;
};

static void gprofng_reader_release(struct gprofng_reader *reader)
{
	gprofng_log_release(&reader->log);
	gprofng_map_release(&reader->map);
	gprofng_java_release(&reader->java);
	gprofng_stacks_release(&reader->stacks);
	gprofng_metrics_release(&reader->metrics);
	known_thread_table_release(&reader->threads);
}

/* ---- threads ---- */

/* A forked process has "(fork)" in place of a command line: it gets the name of the first process.
 */
static int find_comm(struct gprofng_reader *reader, uint32_t *ret)
{
	const char *command = reader->log.text.data + reader->log.command;

	*ret = reader->experiments->comm;
	if (!command[0] || (command[0] == '(' && *ret != STRING_EMPTY))
		return 0;
	return profile_add_frame_name(reader->import->profile, command, strlen(command), ret);
}

static int add_process(struct gprofng_reader *reader)
{
	uint32_t comm;
	int err = find_comm(reader, &comm);

	if (err)
		return err;
	if (reader->experiments->comm == STRING_EMPTY)
		reader->experiments->comm = comm;
	return profile_add_process(reader->import->profile, (uint32_t)reader->log.pid, comm,
				   &reader->process);
}

/* log.xml names threads of Java only; the others get the name of their process. */
static int add_thread(struct gprofng_reader *reader, uint64_t tid, uint32_t *ret)
{
	struct profile *profile = reader->import->profile;
	const char *name = gprofng_log_find_java_thread(&reader->log, tid);
	struct thread thread = {
		.process = reader->process,
		.tid = (uint32_t)tid,
		.comm = profile_get_process(profile, reader->process)->comm,
		.source = reader->import->source,
	};
	int err = name ? profile_add_frame_name(profile, name, strlen(name), &thread.comm) : 0;

	if (err)
		return err;
	return profile_add_thread(profile, &thread, ret);
}

static int find_thread(struct gprofng_reader *reader, uint64_t tid, uint32_t *ret)
{
	struct known_thread thread = {.tid = tid};
	uint32_t number = known_thread_table_find(&reader->threads, &thread);
	int err;

	if (number == HASH_INDEX_NONE) {
		err = add_thread(reader, tid, &thread.thread);
		if (err)
			return err;
		err = known_thread_table_add(&reader->threads, &thread, &number);
		if (err)
			return err;
	}
	*ret = reader->threads.items[number].thread;
	return 0;
}

/* ---- packets ---- */

static void read_fields(const struct gprofng_reader *reader, const struct gprofng_packet *packet,
			const struct gprofng_record *record, struct gprofng_values *values)
{
	for (uint32_t i = 0; i < packet->num_fields; i++) {
		const struct gprofng_field *field =
			&reader->log.fields.items[packet->first_field + i];
		uint64_t number = gprofng_record_get(record, field->offset, field->width);

		if (field->width == 4 && field->is_signed)
			number = (uint64_t)(int64_t)(int32_t)number;
		values->numbers[field->role] = number;
	}
}

/* Whether the packet is as long as its layout in log.xml requires; a damaged one may not be. */
static bool is_whole(const struct gprofng_reader *reader, const struct gprofng_packet *packet,
		     const struct gprofng_record *record)
{
	for (uint32_t i = 0; i < packet->num_fields; i++) {
		const struct gprofng_field *field =
			&reader->log.fields.items[packet->first_field + i];

		if (field->offset + (size_t)field->width > record->size)
			return false;
	}
	return true;
}

static int skip_packet(struct gprofng_reader *reader, const struct gprofng_file *file,
		       const struct gprofng_record *record)
{
	const char *fault = "a packet is shorter than log.xml declares";

	if (reader->import->is_strict)
		return import_fail_member(reader->import, file->path, record->offset, "%s", fault);
	import_skip_member(reader->import, file->path, record->offset, "%s, skipping", fault);
	return 0;
}

static int read_packet(struct gprofng_reader *reader, const struct gprofng_data_file *data_file,
		       const struct gprofng_file *file, const struct gprofng_packet *packet,
		       const struct gprofng_record *record)
{
	struct gprofng_values values = {.offset = record->offset, .kind = packet->kind};
	int err;

	if (!is_whole(reader, packet, record))
		return skip_packet(reader, file, record);
	read_fields(reader, packet, record, &values);
	err = find_thread(reader, values.numbers[GPROFNG_LWPID], &values.thread);
	if (err)
		return err;
	err = gprofng_stacks_find(&reader->stacks, values.numbers[GPROFNG_FRINFO],
				  values.numbers[GPROFNG_TSTAMP], &values.stack);
	if (err)
		return err;
	err = gprofng_metrics_add(&reader->metrics, data_file, &values);
	if (err)
		return err;
	reader->import->counts.records++;
	return 0;
}

/* How log.xml lays out the packets of one file, by kind; NULL: the file has no such packets. */
struct layouts {
	const struct gprofng_packet *items[NUM_GPROFNG_KINDS];
};

static int find_layouts(struct gprofng_reader *reader, uint32_t file, struct layouts *ret)
{
	*ret = (struct layouts){0};
	array_for_each (&reader->log.packets, packet)
		if (packet->file == file && !ret->items[packet->kind])
			ret->items[packet->kind] = packet;
	if ((ret->items[GPROFNG_CLOCK] || ret->items[GPROFNG_OLD_CLOCK]) &&
	    !reader->log.files.items[file].ticks_us)
		return import_fail_member(reader->import, reader->metrics.path, 0,
					  "the log does not give the length of a clock tick");
	return 0;
}

static int read_data_file(struct gprofng_reader *reader, uint32_t index)
{
	const struct gprofng_data_file *data_file = &reader->log.files.items[index];
	struct gprofng_packets packets = {.import = reader->import,
					  .is_big_endian = reader->log.is_big_endian};
	struct layouts layouts;
	struct gprofng_record record;
	struct gprofng_file file;
	int got = 0;
	int err = gprofng_files_open(reader->files, reader->folder, reader->folder_length,
				     reader->log.text.data + data_file->name, &file);

	if (err)
		return err == -ENOENT ? 0 : err; /* nothing of the kind was recorded */
	reader->metrics.path = file.path;
	packets.file = &file;
	err = find_layouts(reader, index, &layouts);
	if (err)
		return err;
	while ((got = gprofng_packets_next(&packets, &record)) > 0) {
		if (record.type < NUM_GPROFNG_KINDS && layouts.items[record.type])
			err = read_packet(reader, data_file, &file, layouts.items[record.type],
					  &record);
		else
			reader->import->counts.unknown_events++;
		if (err)
			return err;
	}
	err = got;
	if (err)
		return err;
	return gprofng_metrics_add_leaks(&reader->metrics);
}

/* Clock samples first: the first metric of a profile is shown by default. */
static int read_data_files(struct gprofng_reader *reader)
{
	const struct gprofng_log *log = &reader->log;
	int err;

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < log->files.length; i++) {
			if ((log->files.items[i].ticks_us != 0) != (pass == 0))
				continue;
			err = read_data_file(reader, i);
			if (err)
				return err;
		}
	}
	return 0;
}

/* ---- experiments ---- */

/* A file that experiments need not have, as jclasses: a missing one is empty. */
static int open_optional(struct gprofng_reader *reader, const char *name, struct gprofng_file *ret)
{
	int err =
		gprofng_files_open(reader->files, reader->folder, reader->folder_length, name, ret);

	if (err == -ENOENT) {
		*ret = (struct gprofng_file){.path = name};
		err = 0;
	}
	return err;
}

static int read_log(struct gprofng_reader *reader)
{
	struct gprofng_file file;
	int err = gprofng_files_open(reader->files, reader->folder, reader->folder_length, LOG_NAME,
				     &file);

	if (err == -ENOENT)
		return import_fail_byte(reader->import, 0, "expected a file " LOG_NAME);
	if (err)
		return err;
	return gprofng_log_read(&reader->log, reader->import, &file);
}

static int read_names(struct gprofng_reader *reader, struct gprofng_modules *modules)
{
	struct gprofng_file file;
	int err = open_optional(reader, "map.xml", &file);

	if (err)
		return err;
	err = gprofng_map_read(&reader->map, reader->import->profile, modules, &reader->log, &file);
	if (err)
		return err;
	err = open_optional(reader, "jclasses", &file);
	if (err)
		return err;
	return gprofng_java_read(&reader->java, reader->import, &reader->log, &file);
}

static int read_stacks(struct gprofng_reader *reader)
{
	struct gprofng_file file;
	int err = open_optional(reader, "data.frameinfo", &file);

	reader->stacks.import = reader->import;
	reader->stacks.log = &reader->log;
	reader->stacks.map = &reader->map;
	reader->stacks.java = &reader->java;
	reader->stacks.process = reader->process;
	if (err)
		return err;
	return gprofng_stacks_read(&reader->stacks, &file);
}

static int read_experiment(struct experiments *experiments, const struct folder *folder)
{
	_cleanup_(gprofng_reader_release) struct gprofng_reader reader = {
		.import = experiments->import,
		.experiments = experiments,
		.files = &experiments->files,
		.folder = folder->path,
		.folder_length = folder->length,
	};
	int err = read_log(&reader);

	if (err)
		return err;
	err = read_names(&reader, &experiments->modules);
	if (err)
		return err;
	err = add_process(&reader);
	if (err)
		return err;
	err = read_stacks(&reader);
	if (err)
		return err;
	err = gprofng_metrics_init(&reader.metrics, reader.import, &reader.log);
	if (err)
		return err;
	return read_data_files(&reader);
}

/*
 * Whether a path is the log of an experiment, and the length of its directory's path. A program may
 * have a log.xml of its own, which is then below archives/.
 */
static bool is_log(const char *path, size_t *ret_folder_length)
{
	size_t length = strlen(path) - strlen(path_basename(path));

	*ret_folder_length = length;
	return string_equals(path + length, LOG_NAME) && !strstr(path, "archives/");
}

/*
 * Descendants have directories inside that of the first process: _f1.er for its first fork,
 * _f1_x1.er for the first exec of that, and so on.
 */
static size_t get_founder_length(const char *path, size_t length)
{
	size_t start = length ? length - 1 : 0;

	while (start && path[start - 1] != '/')
		start--;
	return length && path[start] == '_' ? start : length;
}

static int compare_folders(const void *a, const void *b)
{
	const struct folder *folder_a = a;
	const struct folder *folder_b = b;
	size_t length_a = folder_a->founder_length;
	size_t length_b = folder_b->founder_length;
	int order =
		memcmp(folder_a->path, folder_b->path, length_a < length_b ? length_a : length_b);

	if (order)
		return order;
	if (length_a != length_b)
		return length_a < length_b ? -1 : 1;
	length_a = folder_a->length;
	length_b = folder_b->length;
	order = memcmp(folder_a->path, folder_b->path, length_a < length_b ? length_a : length_b);
	return order ? order : length_a < length_b ? -1 : length_a > length_b;
}

static int list_folders(struct experiments *experiments)
{
	array_for_each (&experiments->files.items, file) {
		struct folder *added;
		size_t length;

		if (!is_log(file->path, &length))
			continue;
		added = array_add(&experiments->folders);
		if (!added)
			return -ENOMEM;
		*added =
			(struct folder){file->path, length, get_founder_length(file->path, length)};
	}
	if (experiments->folders.length)
		qsort(experiments->folders.items, experiments->folders.length,
		      sizeof(*experiments->folders.items), compare_folders);
	return 0;
}

/* A damaged experiment costs no other. */
static int forgive(struct import *import, int err)
{
	if (err != -EBADMSG || import->is_strict)
		return err;
	import->counts.skipped++;
	import_warn(import, "%s; the rest of the experiment is skipped", import_get_reason(import));
	return 0;
}

static int read_folders(struct experiments *experiments)
{
	const struct folder *last = NULL;
	int err = 0;

	array_for_each (&experiments->folders, folder) {
		if (!last || last->founder_length != folder->founder_length ||
		    memcmp(last->path, folder->path, folder->founder_length) != 0)
			experiments->comm = STRING_EMPTY;
		last = folder;
		err = read_experiment(experiments, folder);
		err = forgive(experiments->import, err);
		if (err)
			return err;
	}
	return 0;
}

static int read_experiments(struct experiments *experiments)
{
	struct import *import = experiments->import;
	int err = list_folders(experiments);

	if (err)
		return err;
	err = read_folders(experiments);
	if (err)
		return err;
	if (import->counts.records) {
		import->error = (struct error){0};
		return gprofng_archives_find(&experiments->files, import->profile,
					     &experiments->modules);
	}
	if (import->error.message[0])
		return -EBADMSG;
	if (experiments->folders.length)
		return import_fail_byte(import, 0, "the experiment has no samples");
	return import_fail_byte(import, 0,
				"expected an experiment: a directory with a file " LOG_NAME);
}

static void experiments_release(struct experiments *experiments)
{
	array_release(&experiments->folders);
	gprofng_modules_release(&experiments->modules);
	gprofng_files_release(&experiments->files);
}

static int read_gprofng(struct import *import)
{
	_cleanup_(experiments_release) struct experiments experiments = {.import = import};
	int err = gprofng_files_init(&experiments.files, import);

	if (err)
		return err;
	err = read_experiments(&experiments);
	if (err)
		return err;
	return import->will_name_code ? 0
				      : unsymbolized_code_name(import, false, UNNAMED_NO_SYMBOL);
}

static enum detection detect(const uint8_t *data, size_t size)
{
	return gprofng_files_detect(data, size) ? DETECTED_SURE : DETECTED_NOT;
}

static bool detect_members(const char *const *members, size_t num_members)
{
	size_t ignored;

	for (size_t i = 0; i < num_members; i++)
		if (is_log(members[i], &ignored))
			return true;
	return false;
}

const struct format format_gprofng = {
	.name = "er",
	.extension = ".er",
	.summary = "experiments of gprofng and Oracle Studio: directory or tar",
	.producers = "gprofng 2.40 and 2.44",
	.detect = detect,
	.detect_members = detect_members,
	.read = read_gprofng,
};
