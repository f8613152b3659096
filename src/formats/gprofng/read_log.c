/*
 * log.xml: the collector appends an element whenever something happens, so that the file is valid up
 * to where a process was killed; the rest of the last page is NUL bytes. The relevant elements:
 *
 *	<experiment version="12.4">
 *	<system hostname="…" arch="x86_64" …>
 *	<process wsize="64" pid="4711">./work 7</process>
 *	<profile name="profile" ptimer="10007" numstates="1">
 *	  <profdata fname="profile"/>
 *	  <profpckt kind="8">
 *	    <field name="LWPID" offset="8" type="UINT64"/>
 *
 * Offsets of fields differ between versions and processors, so no layout is built in.
 */
#include "formats/gprofng/read_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/reader.h"

#define OLDEST_VERSION 12
#define MAX_COUNTERS   64 /* more than any processor counts at once */

static const char *const role_names[] = {
	[GPROFNG_LWPID] = "LWPID",     [GPROFNG_TSTAMP] = "TSTAMP", [GPROFNG_FRINFO] = "FRINFO",
	[GPROFNG_MSTATE] = "MSTATE",   [GPROFNG_NTICK] = "NTICK",   [GPROFNG_UCPU] = "UCPU",
	[GPROFNG_SCPU] = "SCPU",       [GPROFNG_TRAP] = "TRAP",     [GPROFNG_TFAULT] = "TFAULT",
	[GPROFNG_DFAULT] = "DFAULT",   [GPROFNG_KFAULT] = "KFAULT", [GPROFNG_ULOCK] = "ULOCK",
	[GPROFNG_TSLEEP] = "TSLEEP",   [GPROFNG_WAIT] = "WAIT",     [GPROFNG_TSTOP] = "TSTOP",
	[GPROFNG_HTYPE] = "HTYPE",     [GPROFNG_HSIZE] = "HSIZE",   [GPROFNG_HVADDR] = "HVADDR",
	[GPROFNG_HOVADDR] = "HOVADDR", [GPROFNG_SRQST] = "SRQST",   [GPROFNG_IOTYPE] = "IOTYPE",
	[GPROFNG_IONBYTE] = "IONBYTE", [GPROFNG_IORQST] = "IORQST", [GPROFNG_HWCTAG] = "HWCTAG",
	[GPROFNG_HWCINT] = "HWCINT",
};

struct gprofng_log_reader {
	struct import *import;
	const struct gprofng_file *file;
	struct gprofng_log *log;
	/* The open element <profile>; the <profdata> in it names the file. */
	struct gprofng_data_file profile;
	uint32_t file_index; /* of the open <profile>; UINT32_MAX: no <profdata> yet */
	bool is_packet_open; /* whether <field>s belong to the last packet */
};

void gprofng_log_release(struct gprofng_log *log)
{
	array_release(&log->files);
	array_release(&log->packets);
	array_release(&log->fields);
	array_release(&log->counters);
	array_release(&log->java_threads);
	text_release(&log->text);
	*log = (struct gprofng_log){0};
}

/* ---- text ---- */

struct xml_scanner gprofng_scan(const struct gprofng_file *file)
{
	size_t size = file->size;

	while (size && !file->data[size - 1])
		size--;
	return xml_scan(file->data, size);
}

bool gprofng_parse_number(struct xml_slice slice, uint64_t *ret)
{
	size_t i = slice.length && slice.data[0] == '+';

	if (slice.length - i < 3 || slice.data[i] != '0' || (slice.data[i + 1] | 0x20) != 'x')
		return parse_u64(slice.data + i, slice.length - i, ret);
	i += 2;
	return hex_read(slice.data + i, slice.length - i, ret) == slice.length - i;
}

uint64_t gprofng_find_number(const struct xml_tag *tag, const char *name)
{
	struct xml_slice slice;
	uint64_t value;

	return xml_find_attribute(tag, name, &slice) && gprofng_parse_number(slice, &value) ? value
											    : 0;
}

uint64_t gprofng_parse_seconds(struct xml_slice slice)
{
	const char *dot = memchr(slice.data, '.', slice.length);
	size_t length = dot ? (size_t)(dot - slice.data) : slice.length;
	uint64_t seconds;
	uint64_t fraction = 0;

	if (!parse_u64(slice.data, length, &seconds) || seconds > UINT32_MAX)
		return 0;
	for (size_t digit = 1; digit <= 9; digit++) {
		char c = length + digit < slice.length ? slice.data[length + digit] : '0';

		if (c < '0' || c > '9')
			return 0;
		fraction = fraction * 10 + (uint64_t)(c - '0');
	}
	return seconds * 1000000000 + fraction;
}

/* The collector writes a byte beyond ASCII as %e6%. Works in place. */
static void unescape(struct text *text, size_t start)
{
	size_t end = start;

	if (text->failed || !text->data)
		return;
	for (size_t i = start; i < text->length; i++) {
		const char *data = text->data + i;
		bool is_byte = text->length - i >= 4 && data[0] == '%' && data[3] == '%' &&
			       is_hex_digit(data[1]) && is_hex_digit(data[2]);

		text->data[end++] =
			is_byte ? (char)(hex_digit_value(data[1]) << 4 | hex_digit_value(data[2]))
				: data[0];
		i += is_byte ? 3 : 0;
	}
	text_truncate(text, end);
}

bool gprofng_append_attribute(struct text *text, const struct xml_tag *tag, const char *name)
{
	size_t start = text->length;
	struct xml_slice slice;

	if (!xml_find_attribute(tag, name, &slice))
		return false;
	xml_decode(text, slice);
	unescape(text, start);
	return true;
}

/* A string of the log; empty when there is no such attribute. */
static size_t add_string(struct gprofng_log *log, const struct xml_tag *tag, const char *name)
{
	size_t start = log->text.length;

	(void)gprofng_append_attribute(&log->text, tag, name); /* none: it is empty */
	text_append_char(&log->text, '\0');
	return start;
}

/* ---- elements ---- */

static int read_version(struct gprofng_log_reader *reader, const struct xml_tag *tag)
{
	struct xml_slice version;
	const char *dot;
	uint64_t major;

	if (!xml_find_attribute(tag, "version", &version))
		return import_fail_member(reader->import, reader->file->path, tag->offset,
					  "expected the version of the experiment");
	dot = memchr(version.data, '.', version.length);
	if (!parse_u64(version.data, dot ? (size_t)(dot - version.data) : version.length, &major) ||
	    major < OLDEST_VERSION)
		return import_fail_member(reader->import, reader->file->path, tag->offset,
					  "experiments before version %d cannot be read",
					  OLDEST_VERSION);
	return 0;
}

static void read_system(struct gprofng_log *log, const struct xml_tag *tag)
{
	struct xml_slice arch;

	if (xml_find_attribute(tag, "arch", &arch))
		log->is_big_endian = (arch.length >= 5 && memcmp(arch.data, "sparc", 5) == 0) ||
				     (arch.length >= 4 && memcmp(arch.data, "sun4", 4) == 0);
}

/* The text of <process>: the command line. */
static void read_command(struct gprofng_log *log, struct xml_slice line)
{
	size_t start = log->text.length;
	size_t length;
	const char *word;

	if (!line.length || log->command)
		return;
	xml_decode(&log->text, line);
	unescape(&log->text, start);
	text_append_char(&log->text, '\0');
	if (log->text.failed)
		return;
	word = log->text.data + start;
	length = strcspn(word, " \t\n");
	log->text.data[start + length] = '\0';
	log->command = start + (size_t)(path_basename(word) - word);
}

static void read_process(struct gprofng_log *log, const struct xml_tag *tag)
{
	uint64_t pid = gprofng_find_number(tag, "pid");

	if (tag->is_closing)
		read_command(log, tag->before);
	else if (pid)
		log->pid = pid;
	else if (gprofng_find_number(tag, "wsize") == 32)
		log->is_32_bit = true;
}

static int read_event(struct gprofng_log *log, const struct xml_tag *tag)
{
	struct xml_slice kind;
	struct xml_slice time;
	struct gprofng_java_thread *thread;

	if (!xml_find_attribute(tag, "kind", &kind))
		return 0;
	if (xml_slice_equals(kind, "run") && !log->start_ns &&
	    xml_find_attribute(tag, "tstamp", &time))
		log->start_ns = gprofng_parse_seconds(time);
	if (!xml_slice_equals(kind, "jthread_start"))
		return 0;
	thread = array_add(&log->java_threads);
	if (!thread)
		return -ENOMEM;
	thread->tid = gprofng_find_number(tag, "tid");
	thread->name = add_string(log, tag, "name");
	return 0;
}

/* ---- packets ---- */

static int read_profile(struct gprofng_log_reader *reader, const struct xml_tag *tag)
{
	struct gprofng_log *log = reader->log;
	struct xml_slice name;
	struct gprofng_counter *counter;

	reader->file_index = UINT32_MAX;
	reader->profile =
		(struct gprofng_data_file){.ticks_us = gprofng_find_number(tag, "ptimer")};
	reader->profile.num_states = (uint32_t)gprofng_find_number(tag, "numstates");
	if (tag->is_closing || !xml_find_attribute(tag, "name", &name) ||
	    !xml_slice_equals(name, "hwcounter") || log->counters.length >= MAX_COUNTERS)
		return 0;
	counter = array_add(&log->counters);
	if (!counter)
		return -ENOMEM;
	counter->tag = gprofng_find_number(tag, "tag");
	counter->name = add_string(log, tag, "hwcname");
	return 0;
}

/* Profiles may share a file: all hardware counters do. */
static int read_file_name(struct gprofng_log_reader *reader, const struct xml_tag *tag)
{
	struct gprofng_log *log = reader->log;
	size_t name = add_string(log, tag, "fname");
	struct gprofng_data_file *added;

	if (log->text.failed)
		return -ENOMEM;
	/* No more profiles have files than there are kinds of data. */
	if (!log->text.data[name] || strchr(log->text.data + name, '/') ||
	    log->files.length >= NUM_GPROFNG_KINDS)
		return 0;
	for (uint32_t i = 0; i < log->files.length; i++) {
		if (string_equals(log->text.data + log->files.items[i].name,
				  log->text.data + name)) {
			reader->file_index = i;
			return 0;
		}
	}
	added = array_add(&log->files);
	if (!added)
		return -ENOMEM;
	*added = reader->profile;
	added->name = name;
	reader->file_index = (uint32_t)(log->files.length - 1);
	return 0;
}

static int read_packet(struct gprofng_log_reader *reader, const struct xml_tag *tag)
{
	struct gprofng_log *log = reader->log;
	uint64_t kind = gprofng_find_number(tag, "kind");
	struct gprofng_packet *packet;

	reader->is_packet_open = false;
	if (tag->is_closing || reader->file_index == UINT32_MAX || kind >= NUM_GPROFNG_KINDS)
		return 0;
	packet = array_add(&log->packets);
	if (!packet)
		return -ENOMEM;
	*packet = (struct gprofng_packet){
		.file = reader->file_index,
		.kind = (uint32_t)kind,
		.first_field = (uint32_t)log->fields.length,
	};
	reader->is_packet_open = true;
	return 0;
}

/* In bytes; 0 for types that are not numbers, such as STRING. */
static uint8_t get_width(struct xml_slice type)
{
	if (xml_slice_equals(type, "INT32") || xml_slice_equals(type, "UINT32"))
		return 4;
	return xml_slice_equals(type, "INT64") || xml_slice_equals(type, "UINT64") ? 8 : 0;
}

static int read_field(struct gprofng_log_reader *reader, const struct xml_tag *tag)
{
	struct gprofng_log *log = reader->log;
	struct xml_slice name;
	struct xml_slice type;
	uint64_t offset = gprofng_find_number(tag, "offset");
	struct gprofng_field *field;
	uint8_t role = 0;

	if (!reader->is_packet_open || !xml_find_attribute(tag, "name", &name) ||
	    !xml_find_attribute(tag, "type", &type) || !get_width(type) || offset > UINT16_MAX)
		return 0;
	while (role < NUM_GPROFNG_ROLES && !xml_slice_equals(name, role_names[role]))
		role++;
	if (role == NUM_GPROFNG_ROLES)
		return 0;
	field = array_add(&log->fields);
	if (!field)
		return -ENOMEM;
	*field = (struct gprofng_field){
		.offset = (uint32_t)offset,
		.role = role,
		.width = get_width(type),
		.is_signed = type.data[0] == 'I',
	};
	log->packets.items[log->packets.length - 1].num_fields++;
	return 0;
}

static int read_tag(struct gprofng_log_reader *reader, const struct xml_tag *tag)
{
	if (xml_slice_equals(tag->name, "profile"))
		return read_profile(reader, tag);
	if (xml_slice_equals(tag->name, "profpckt"))
		return read_packet(reader, tag);
	if (xml_slice_equals(tag->name, "process")) {
		read_process(reader->log, tag);
		return 0;
	}
	if (tag->is_closing)
		return 0;
	if (xml_slice_equals(tag->name, "experiment"))
		return read_version(reader, tag);
	if (xml_slice_equals(tag->name, "profdata"))
		return read_file_name(reader, tag);
	if (xml_slice_equals(tag->name, "field"))
		return read_field(reader, tag);
	if (xml_slice_equals(tag->name, "event"))
		return read_event(reader->log, tag);
	if (xml_slice_equals(tag->name, "system"))
		read_system(reader->log, tag);
	return 0;
}

static int compare_threads(const void *a, const void *b)
{
	const struct gprofng_java_thread *thread_a = a;
	const struct gprofng_java_thread *thread_b = b;

	if (thread_a->tid != thread_b->tid)
		return thread_a->tid < thread_b->tid ? -1 : 1;
	return thread_a->name < thread_b->name ? -1 : thread_a->name > thread_b->name;
}

int gprofng_log_read(struct gprofng_log *log, struct import *import,
		     const struct gprofng_file *file)
{
	struct gprofng_log_reader reader = {
		.import = import, .file = file, .log = log, .file_index = UINT32_MAX};
	struct xml_scanner scanner = gprofng_scan(file);
	struct xml_tag tag;
	int err;

	text_append_char(&log->text, '\0'); /* the empty string, at 0 */
	if (!xml_next_tag(&scanner, &tag) || !xml_slice_equals(tag.name, "experiment"))
		return import_fail_member(import, file->path, 0,
					  "expected the element <experiment>");
	do {
		err = read_tag(&reader, &tag);
		if (err)
			return err;
	} while (xml_next_tag(&scanner, &tag));
	if (log->text.failed)
		return -ENOMEM;
	if (log->java_threads.length)
		qsort(log->java_threads.items, log->java_threads.length,
		      sizeof(*log->java_threads.items), compare_threads);
	return 0;
}

const char *gprofng_log_find_java_thread(const struct gprofng_log *log, uint64_t tid)
{
	size_t place = array_count_front(&log->java_threads, thread, thread->tid < tid);

	if (place == log->java_threads.length || log->java_threads.items[place].tid != tid)
		return NULL;
	return log->text.data + log->java_threads.items[place].name;
}
