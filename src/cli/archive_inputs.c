#include "cli/archive_inputs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "archive/archive.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/time_words.h"

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
	if (!time_words_read(text, now_s, ret))
		return EXIT_DONE;
	log_error("%s '%s': expected a time: " TIME_WORDS_EXPECTED, option, text);
	return EXIT_USAGE;
}

/* "2026-11-21 03:12:05", local */
static void print_time(int64_t time_s, char *ret, size_t size)
{
	time_t time = (time_t)time_s;
	struct tm local;

	if (!localtime_r(&time, &local) || !strftime(ret, size, "%Y-%m-%d %H:%M:%S", &local))
		snprintf(ret, size, "the beginning");
}

static int list_captures(const char *dir, int64_t since_s, int64_t until_s, struct input_paths *ret)
{
	_cleanup_(archive_freep) struct archive *archive = NULL;
	struct archive_list list = {0};
	struct error error = {0};
	int status = EXIT_DONE;

	if (archive_open(dir, false, &archive, &error) ||
	    archive_list_init(&list, archive, since_s, until_s, &error)) {
		log_error("%s", error.message);
		return EXIT_FAILED;
	}
	for (size_t i = 0; !status && i < list.captures.length; i++)
		status = add_path(ret, dir, list.captures.items[i].name);
	if (!list.captures.length) {
		char since[64], until[64];

		print_time(since_s, since, sizeof(since));
		print_time(until_s, until, sizeof(until));
		log_error("there is no capture in '%s' from %s to %s", dir, since, until);
		status = EXIT_FAILED;
	}
	archive_list_release(&list);
	return status;
}

int archive_inputs_list(const struct archive_inputs *inputs, char *const *operands,
			size_t num_operands, const char *command, struct input_paths *ret)
{
	int64_t now_s = (int64_t)time(NULL);
	int64_t since_s = INT64_MIN;
	int64_t until_s = now_s + 1; /* what began in this second too */
	int status = EXIT_DONE;

	*ret = (struct input_paths){0};
	if (!inputs->dir && (inputs->since || inputs->until)) {
		log_error("--since and --until need --dir DIR; see 'stackwide help %s'", command);
		return EXIT_USAGE;
	}
	if (inputs->dir && num_operands) {
		log_error("unexpected '%s': give files or --dir, not both", operands[0]);
		return EXIT_USAGE;
	}
	for (size_t i = 0; !status && i < num_operands; i++)
		status = add_path(ret, NULL, operands[i]);
	if (!inputs->dir)
		return status;
	if (inputs->since)
		status = read_time("--since", inputs->since, now_s, &since_s);
	if (!status && inputs->until)
		status = read_time("--until", inputs->until, now_s, &until_s);
	if (!status && until_s <= since_s) {
		log_error("--until '%s' is not after --since '%s'",
			  inputs->until ? inputs->until : "now", inputs->since);
		status = EXIT_USAGE;
	}
	return status ? status : list_captures(inputs->dir, since_s, until_s, ret);
}

int archive_inputs_list_range(const char *dir, const char *option, const char *range,
			      struct input_paths *ret)
{
	int64_t since_s;
	int64_t until_s;

	*ret = (struct input_paths){0};
	switch (time_words_read_range(range, (int64_t)time(NULL), &since_s, &until_s)) {
	case 0:
		return list_captures(dir, since_s, until_s, ret);
	case -ERANGE:
		log_error("%s '%s': the end is not after the beginning", option, range);
		break;
	default:
		log_error("%s '%s': expected FROM..TO, each a time: " TIME_WORDS_EXPECTED, option,
			  range);
	}
	return EXIT_USAGE;
}
