/*
 * jclasses: a packet for each class that the JVM loaded, and after it one for each of its methods.
 * The number of a method that was unloaded may be given to another; the last one counts.
 */
#include "formats/gprofng/read_java.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/gprofng/read_packets.h"

enum { CLASS_LOADED = 0x0a03, METHOD_LOADED = 0x0b03 };

/* Offsets in a packet. Names are NUL-terminated, unless the packet is damaged. */
enum { CLASS_NAME = 24, METHOD_ID = 16, METHOD_NAME = 24 };

#define MAX_NAME_BYTES 1024

void gprofng_java_release(struct gprofng_java *java)
{
	array_release(&java->methods);
	text_release(&java->text);
	*java = (struct gprofng_java){0};
}

static int add_method(struct gprofng_java *java, const struct gprofng_record *record,
		      uint32_t class_name)
{
	struct gprofng_method *added;

	if (record->size <= METHOD_NAME)
		return 0;
	added = array_add(&java->methods);
	if (!added)
		return -ENOMEM;
	*added = (struct gprofng_method){
		.id = gprofng_record_get(record, METHOD_ID, 8),
		.number = (uint32_t)java->methods.length,
		.class_name = class_name,
		.name = (uint32_t)(record->offset + METHOD_NAME),
	};
	return 0;
}

static int compare_methods(const void *a, const void *b)
{
	const struct gprofng_method *method_a = a;
	const struct gprofng_method *method_b = b;

	if (method_a->id != method_b->id)
		return method_a->id < method_b->id ? -1 : 1;
	return method_a->number < method_b->number ? 1 : -1;
}

int gprofng_java_read(struct gprofng_java *java, struct import *import,
		      const struct gprofng_log *log, const struct gprofng_file *file)
{
	struct gprofng_packets packets = {import, file, 0, log->is_big_endian};
	struct gprofng_record record;
	uint32_t class_name = 0;
	int got;
	int err;

	java->file = *file;
	if (file->size > UINT32_MAX) /* offsets are kept in 32 bits */
		return 0;
	while ((got = gprofng_packets_next(&packets, &record)) > 0) {
		if (record.type == CLASS_LOADED)
			class_name = record.size > CLASS_NAME
					     ? (uint32_t)(record.offset + CLASS_NAME)
					     : 0;
		if (record.type != METHOD_LOADED)
			continue;
		err = add_method(java, &record, class_name);
		if (err)
			return err;
	}
	if (got)
		return got;
	if (java->methods.length)
		qsort(java->methods.items, java->methods.length, sizeof(*java->methods.items),
		      compare_methods);
	return 0;
}

/* The string at an offset of the file. */
static size_t get_string(const struct gprofng_java *java, uint32_t offset, const char **ret)
{
	size_t left = java->file.size - offset;

	*ret = (const char *)java->file.data + offset;
	return strnlen(*ret, left < MAX_NAME_BYTES ? left : MAX_NAME_BYTES);
}

/* "Lcom/example/Class;" as com.example.Class, and the method. */
static void append_name(struct gprofng_java *java, const struct gprofng_method *method)
{
	const char *name;
	size_t length;

	if (method->class_name) {
		length = get_string(java, method->class_name, &name);
		if (length && name[0] == 'L') {
			name++;
			length--;
		}
		if (length && name[length - 1] == ';')
			length--;
		text_append(&java->text, name, length);
		text_append_char(&java->text, '.');
		for (size_t i = 0; !java->text.failed && i < java->text.length; i++)
			if (java->text.data[i] == '/')
				java->text.data[i] = '.';
	}
	length = get_string(java, method->name, &name);
	text_append(&java->text, name, length);
}

static const struct gprofng_method *find_method(const struct gprofng_java *java, uint64_t id)
{
	size_t place = array_count_front(&java->methods, method, method->id < id);

	if (place == java->methods.length || java->methods.items[place].id != id)
		return NULL;
	return &java->methods.items[place];
}

int gprofng_java_find(struct gprofng_java *java, struct profile *profile, uint64_t id,
		      uint32_t *ret)
{
	const struct gprofng_method *method = find_method(java, id);
	struct frame frame = {.kind = FRAME_JAVA};
	int err;

	text_truncate(&java->text, 0);
	if (method)
		append_name(java, method);
	if (java->text.failed)
		return -ENOMEM;
	err = profile_add_frame_name(profile, java->text.data ? java->text.data : "",
				     java->text.length, &frame.name);
	frame.full_name = frame.name;
	if (err)
		return err;
	return profile_add_frame_location(profile, &frame, ret);
}
