#include "cli/archive_inputs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "archive/archive.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/time_spec.h"

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

/* dir NULL: the name is a path already. */
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
		snprintf(ret, size, time_s < 0 ? "the beginning" : "the end");
}

static int list_captures(const char *dir, int64_t since_s, int64_t until_s, struct input_paths *ret)
{
	_cleanup_(archive_freep) struct archive *archive = NULL;
	_cleanup_(archive_list_release) struct archive_list list = {0};
	struct error error = {0};

	if (archive_open(dir, false, &archive, &error) ||
	    archive_list_init(&list, archive, since_s, until_s, &error)) {
		log_error("%s", error.message);
		return EXIT_FAILED;
	}
	array_for_each (&list.captures, capture) {
		int status = add_path(ret, dir, capture->name);

		if (status)
			return status;
	}
	if (!list.captures.length) {
		char since[64], until[64];

		print_time(since_s, since, sizeof(since));
		print_time(until_s, until, sizeof(until));
		log_error("there is no capture in '%s' from %s to %s", dir, since, until);
		return EXIT_FAILED;
	}
	return EXIT_DONE;
}

int archive_inputs_list(const struct archive_inputs *inputs, char *const *operands,
			size_t num_operands, const char *command, struct input_paths *ret)
{
	int64_t now_s = (int64_t)time(NULL);
	int64_t since_s = INT64_MIN;
	int64_t until_s = INT64_MAX; /* also what a clock that was wrong has put into the future */
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
	if (inputs->since) {
		status = read_time("--since", inputs->since, now_s, &since_s);
		if (status)
			return status;
	}
	if (inputs->until) {
		status = read_time("--until", inputs->until, now_s, &until_s);
		if (status)
			return status;
	}
	if (until_s <= since_s) {
		log_error("--until '%s' is not after --since '%s'",
			  inputs->until ? inputs->until : "now", inputs->since);
		return EXIT_USAGE;
	}
	return list_captures(inputs->dir, since_s, until_s, ret);
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
		log_error("%s '%s': the end is not after the beginning", option, range);
		break;
	default:
		log_error("%s '%s': expected FROM..TO, each a time: " TIME_SPEC_EXPECTED, option,
			  range);
	}
	return EXIT_USAGE;
}
