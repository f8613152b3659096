#include "cli/files/archive_inputs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "cli/options/command.h"
#include "cli/options/time_spec.h"

int archive_inputs_handle(struct archive_inputs *inputs, int id, const char *value)
{
	switch ((enum archive_option)id) {
	case OPTION_ARCHIVE:
		inputs->dir = value;
		return 0;
	case OPTION_SINCE:
		inputs->since = value;
		return 0;
	case OPTION_UNTIL:
		inputs->until = value;
		return 0;
	}
	return -EINVAL;
}

void input_paths_release(struct input_paths *paths)
{
	array_for_each (&paths->items, path)
		free(*path);
	array_release(&paths->items);
}

/* dir  NULL: the name is already a path. */
static int add_path(struct input_paths *paths, const char *dir, const char *name)
{
	char **added = array_add(&paths->items);
	int length = !added ? -1
		     : dir  ? asprintf(added, "%s/%s", dir, name)
			    : asprintf(added, "%s", name);

	if (length >= 0)
		return EXIT_DONE;
	if (added)
		*added = NULL;
	log_error("out of memory");
	return EXIT_FAILED;
}

static int read_time(const char *option, const char *text, int64_t now_s, int64_t *ret)
{
	if (!time_spec_read(text, now_s, ret))
		return EXIT_DONE;
	log_error("%s '%s': expected a time: " TIME_SPEC_EXPECTED, option, text);
	return EXIT_USAGE;
}

/* "2026-11-21 03:12:05 +0100", local */
static void print_time(int64_t time_s, char *ret, size_t size)
{
	time_t time = (time_t)time_s;
	struct tm local;

	if (!localtime_r(&time, &local) || !strftime(ret, size, "%Y-%m-%d %H:%M:%S %z", &local))
		snprintf(ret, size, time_s < 0 ? "the start" : "the end");
}

/* Open at least one. Returns an exit status; on success the caller owns both. */
static int open_captures(const char *dir, int64_t since_s, int64_t until_s,
			 struct archive **ret_archive, struct archive_list *ret)
{
	_cleanup_(archive_freep) struct archive *archive = NULL;
	struct error error = {0};
	char since[64], until[64];

	if (archive_open(dir, false, &archive, &error) ||
	    archive_list_init(ret, archive, since_s, until_s, &error)) {
		log_error("%s", error.message);
		return EXIT_FAILED;
	}
	if (ret->captures.length) {
		*ret_archive = return_ptr(archive);
		return EXIT_DONE;
	}
	print_time(since_s, since, sizeof(since));
	print_time(until_s, until, sizeof(until));
	log_error("no capture in '%s' from %s to %s", dir, since, until);
	return EXIT_FAILED;
}

static int list_captures(const char *dir, int64_t since_s, int64_t until_s, struct input_paths *ret)
{
	_cleanup_(archive_freep) struct archive *archive = NULL;
	_cleanup_(archive_list_release) struct archive_list list = {0};
	int status = open_captures(dir, since_s, until_s, &archive, &list);

	if (status)
		return status;
	array_for_each (&list.captures, capture) {
		status = add_path(ret, dir, capture->name);
		if (status)
			return status;
	}
	return EXIT_DONE;
}

/* Without --until, includes captures that a wrong clock has put into the future. */
static int read_times(const struct archive_inputs *inputs, int64_t *ret_since_s,
		      int64_t *ret_until_s)
{
	int64_t now_s = (int64_t)time(NULL);
	int status;

	*ret_since_s = INT64_MIN;
	*ret_until_s = INT64_MAX;
	if (inputs->since) {
		status = read_time("--since", inputs->since, now_s, ret_since_s);
		if (status)
			return status;
	}
	if (inputs->until) {
		status = read_time("--until", inputs->until, now_s, ret_until_s);
		if (status)
			return status;
	}
	if (*ret_until_s > *ret_since_s)
		return EXIT_DONE;
	log_error("--until '%s' is not after --since '%s'", inputs->until ? inputs->until : "now",
		  inputs->since);
	return EXIT_USAGE;
}

int archive_inputs_list(const struct archive_inputs *inputs, char *const *operands,
			size_t num_operands, const char *command, struct input_paths *ret)
{
	int64_t since_s;
	int64_t until_s;
	int status;

	*ret = (struct input_paths){0};
	if (!inputs->dir && (inputs->since || inputs->until)) {
		log_error("--since and --until need --dir DIR; see 'stackwide help %s'", command);
		return EXIT_USAGE;
	}
	if (inputs->dir && num_operands) {
		log_error("unexpected '%s': give files or --dir, not both", operands[0]);
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < num_operands; i++) {
		status = add_path(ret, NULL, operands[i]);
		if (status)
			return status;
	}
	if (!inputs->dir)
		return EXIT_DONE;
	status = read_times(inputs, &since_s, &until_s);
	return status ? status : list_captures(inputs->dir, since_s, until_s, ret);
}

int archive_inputs_open(const struct archive_inputs *inputs, struct archive **ret_archive,
			struct archive_list *ret)
{
	int64_t since_s;
	int64_t until_s;
	int status = read_times(inputs, &since_s, &until_s);

	*ret = (struct archive_list){0};
	return status ? status : open_captures(inputs->dir, since_s, until_s, ret_archive, ret);
}

int archive_inputs_list_range(const char *dir, const char *option, const char *range,
			      struct input_paths *ret)
{
	int64_t since_s;
	int64_t until_s;

	*ret = (struct input_paths){0};
	switch (time_spec_read_range(range, (int64_t)time(NULL), &since_s, &until_s)) {
	case 0:
		return list_captures(dir, since_s, until_s, ret);
	case -ERANGE:
		log_error("%s '%s': the end is not after the start", option, range);
		break;
	default:
		log_error("%s '%s': expected FROM..TO, each a time: " TIME_SPEC_EXPECTED, option,
			  range);
	}
	return EXIT_USAGE;
}
