#include "collect/events/event_device.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "collect/kernel/name_list.h"

/* Limit for events that are described by the name of another one; no device is known to do that. */
#define MAX_DEPTH 4
/* Limit for the kernel's description files. */
#define MAX_FILE_BYTES 4096

/* ---- a device's description of bits ------------------------------------------------------ */

/* A file of the device, without the newline at its end. */
static int read_description(const char *devices, const char *device, const char *folder,
			    const char *name, struct text *ret)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof(path), "%s/%s/%s%s", devices, device, folder, name);
	int err;

	if (length < 0 || (size_t)length >= sizeof(path) || strchr(name, '/') || name[0] == '.')
		return -ENOENT;
	text_truncate(ret, 0);
	err = file_read_at(AT_FDCWD, path, MAX_FILE_BYTES, ret);
	if (err)
		return err;
	while (ret->length && isspace((unsigned char)ret->data[ret->length - 1]))
		text_truncate(ret, ret->length - 1);
	return ret->length ? 0 : -ENOENT;
}

static uint64_t *get_field(struct event *event, const char *name, size_t length)
{
	const struct {
		const char *name;
		uint64_t *field;
	} fields[] = {
		{"config", &event->config},
		{"config1", &event->config1},
		{"config2", &event->config2},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(fields); i++)
		if (strlen(fields[i].name) == length && !memcmp(fields[i].name, name, length))
			return fields[i].field;
	return NULL;
}

/*
 * Put a value into the bits that "config:0-7,32-35" names, the lowest ones first. Returns 0;
 * -ERANGE if it has more bits than these; or -EINVAL if the description is invalid.
 */
static int put_bits(const char *format, uint64_t value, struct event *event)
{
	const char *colon = strchr(format, ':');
	uint64_t *field = colon ? get_field(event, format, (size_t)(colon - format)) : NULL;
	const char *at;

	if (!field)
		return -EINVAL;
	at = colon + 1;
	for (;;) {
		unsigned first, last, num_bits;
		uint64_t mask;
		int used = 0;

		if (sscanf(at, "%u%n", &first, &used) != 1)
			return -EINVAL;
		at += used;
		last = first;
		if (*at == '-' && sscanf(at, "-%u%n", &last, &used) == 1)
			at += used;
		if (first > last || last > 63)
			return -EINVAL;
		num_bits = last - first + 1;
		mask = num_bits < 64 ? (1ull << num_bits) - 1 : UINT64_MAX;
		/* The last of several words counts: "mem-loads,ldlat=30". */
		*field = (*field & ~(mask << first)) | (value & mask) << first;
		value = num_bits < 64 ? value >> num_bits : 0;
		if (*at != ',')
			break;
		at++;
	}
	if (*at)
		return -EINVAL;
	return value ? -ERANGE : 0;
}

struct device {
	const char *devices;
	const char *name;
};

/*
 * Set a value in the bits that format/WORD of the device describes. Returns 0, -ERANGE (too large)
 * or the error of reading it.
 */
static int put_described_bits(const struct device *device, const char *word, uint64_t value,
			      struct event *event)
{
	_cleanup_(text_release) struct text description = {0};
	int err = read_description(device->devices, device->name, "format/", word, &description);

	return err ? err : put_bits(description.data, value, event);
}

static int put_words(const struct device *device, const char *words, int depth, struct event *event,
		     struct error *error);

/* An event of the device, which its description spells in words, perhaps names of other events. */
static int put_event(const struct device *device, const char *name, const char *words, int depth,
		     struct event *event, struct error *error)
{
	if (depth == MAX_DEPTH)
		return error_set(error, -EINVAL, "%s/%s/: unterminated description", device->name,
				 name);
	return put_words(device, words, depth + 1, event, error);
}

/* "umask=0x3"; without a value it is 1, or the name of an event. */
static int put_word(const struct device *device, char *word, int depth, struct event *event,
		    struct error *error)
{
	_cleanup_(text_release) struct text description = {0};
	char *equals = strchr(word, '=');
	char *end = NULL;
	uint64_t value = 1;
	uint64_t *field;
	int err;

	if (equals) {
		*equals = '\0';
		errno = 0;
		value = strtoull(equals + 1, &end, 0);
		if (errno || end == equals + 1 || *end || equals[1] == '-')
			return error_set(error, -EINVAL, "%s/: '%s' is not a number", device->name,
					 equals + 1);
	} else {
		err = read_description(device->devices, device->name, "events/", word,
				       &description);
		if (!err)
			return put_event(device, word, description.data, depth, event, error);
		if (err == -ENOMEM)
			return err;
	}
	field = get_field(event, word, strlen(word));
	if (field && equals) {
		*field = value;
		return 0;
	}
	err = put_described_bits(device, word, value, event);
	if (err == -ERANGE)
		return error_set(error, -EINVAL, "%s/%s=%s/: number too large for the device",
				 device->name, word, equals ? equals + 1 : "1");
	if (err == -ENOMEM)
		return err;
	return err ? error_set(
			     error, -EINVAL,
			     "%s/%s/: unknown word for the device; %s/%s/format and events list the "
			     "known ones",
			     device->name, word, device->devices, device->name)
		   : 0;
}

static int put_words(const struct device *device, const char *words, int depth, struct event *event,
		     struct error *error)
{
	_cleanup_free_ char *copy = strdup(words);
	char *rest = copy;
	char *word;

	if (!copy)
		return -ENOMEM;
	while ((word = strsep(&rest, ","))) {
		int err = *word ? put_word(device, word, depth, event, error) : 0;

		if (err)
			return err;
	}
	return 0;
}

int event_device_configure(const char *devices, const char *device, const char *words,
			   struct event *event, struct error *error)
{
	_cleanup_(text_release) struct text type = {0};
	struct device found = {.devices = devices, .name = device};
	char *end;
	unsigned long number;
	int err = !*device || *device == '.' || strchr(device, '/')
			  ? -ENOENT
			  : read_description(devices, device, "", "type", &type);

	if (err == -ENOMEM)
		return err;
	if (err)
		return error_set(
			error, -ENOTSUP,
			"no device '%s' counts events on this machine; %s lists those that do",
			device, devices);
	errno = 0;
	number = strtoul(type.data, &end, 10);
	if (errno || *end || number > UINT32_MAX)
		return error_set(error, -ENOTSUP, "%s/%s/type is '%s', not a number", devices,
				 device, type.data);
	event->type = (uint32_t)number;
	return put_words(&found, words, 0, event, error);
}

int event_device_list(const char *devices, const char *device,
		      int (*handle)(const char *name, void *context), void *context)
{
	_cleanup_(name_list_release) struct name_list events = {0};
	char path[PATH_MAX];
	int err;

	snprintf(path, sizeof(path), "%s/%s/events", devices, device);
	err = name_list_read(path, &events);
	if (err)
		return err;
	array_for_each (&events.names, event) {
		if (strchr(*event, '.')) /* "energy-cores.unit": the unit of another event */
			continue;
		snprintf(path, sizeof(path), "%s/%s/", device, *event);
		err = handle(path, context);
		if (err)
			return err;
	}
	return 0;
}
