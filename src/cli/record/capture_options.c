#include "cli/record/capture_options.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/files/output_options.h"

#define MAX_CONFIG_BYTES     65536
#define DEFAULT_DURATION_NS  (30 * NS_PER_SECOND)
#define DEFAULT_KEEP_S       (14 * 86400)
#define DEFAULT_SIZE_BYTES   (2ull << 30)
#define DEFAULT_FREE_PERCENT 5

enum capture_option {
	OPTION_DIR = 700, /* above the ids of other option groups */
	OPTION_KEEP,
	OPTION_MAX_SIZE,
	OPTION_MIN_FREE,
	OPTION_RANDOM_DELAY,
	OPTION_CONFIG,
};

const struct option_spec capture_option_specs[] = {
	{OPTION_DIR, 0, "dir", "DIR", "directory of the archive"},
	{OPTION_DURATION, 'd', "duration", "TIME", "length of the capture (30s)"},
	{OPTION_KEEP, 0, "keep", "AGE", "remove captures older than this (14d); 0: keep all"},
	{OPTION_MAX_SIZE, 0, "max-size", "BYTES",
	 "remove the oldest captures when the archive is\n"
	 "larger: 500M, 2G (2G); 0: no limit"},
	{OPTION_MIN_FREE, 0, "min-free", "SPACE",
	 "disk space to keep free, 5% or 10G (5%): remove\n"
	 "the oldest captures, and if that is not enough,\n"
	 "make no new one"},
	{OPTION_RANDOM_DELAY, 0, "random-delay", "TIME",
	 "first wait a random time up to this, so that the\n"
	 "machines of a fleet do not start together"},
	{OPTION_CONFIG, 0, "config", "FILE",
	 "read options from FILE, by long name; the command\n"
	 "line overrides them"},
	{OPTION_TO, 0, "to", "FORMAT", "format of the capture (pprof)"},
	RECORD_TARGET_SPECS,
	RECORD_SAMPLING_SPECS,
	RECORD_EVENT_SPECS,
	RECORD_ALIAS_SPECS,
	{OPTION_BUFFER_SIZE, 0, "buffer-size", "BYTES", NULL},
	{0},
};

static int refuse(const char *option, const char *value, const char *expected)
{
	log_error("%s '%s': %s; see 'stackwide help capture'", option, value, expected);
	return -EINVAL;
}

bool capture_takes_format(const struct format *format)
{
	return format_find_name(format->name) == format && format->write && format->extension[0] &&
	       !format->metric;
}

static int read_format(struct capture_options *options, const char *value)
{
	options->format = format_find_name(value);
	if (options->format && capture_takes_format(options->format))
		return 0;
	return refuse("--to", value, "no such output format");
}

/* 5% or 10G */
static int read_space(struct capture_options *options, const char *value)
{
	_cleanup_free_ char *copy = strdup(value);
	uint64_t number;

	if (!copy)
		return -ENOMEM;
	options->min_free_percent = 0;
	options->min_free_bytes = 0;
	if (string_ends_with(value, "%")) {
		copy[strlen(copy) - 1] = '\0';
		if (!option_read_number(copy, 0, 99, &number)) {
			options->min_free_percent = (uint32_t)number;
			return 0;
		}
	} else if (!option_read_size(value, &options->min_free_bytes)) {
		return 0;
	}
	return refuse("--min-free", value, "expected a share or a size, such as 5% or 10G");
}

static int read_age(const char *value, uint64_t *ret_s)
{
	uint64_t ns;

	if (string_equals(value, "0")) {
		*ret_s = 0;
		return 0;
	}
	if (option_read_duration(value, &ns) || ns < NS_PER_SECOND)
		return refuse("--keep", value, "expected a time of at least a second, such as 14d");
	*ret_s = ns / NS_PER_SECOND;
	return 0;
}

static int handle(int id, const char *value, void *context)
{
	struct capture_options *options = context;

	switch (id) {
	case OPTION_DIR:
		options->dir = value;
		return 0;
	case OPTION_KEEP:
		return read_age(value, &options->keep_s);
	case OPTION_MAX_SIZE:
		if (option_read_size(value, &options->max_size_bytes))
			return refuse("--max-size", value, "expected a size, such as 500M or 2G");
		return 0;
	case OPTION_MIN_FREE:
		return read_space(options, value);
	case OPTION_RANDOM_DELAY:
		if (string_equals(value, "0"))
			options->random_delay_ns = 0;
		else if (option_read_duration(value, &options->random_delay_ns))
			return refuse("--random-delay", value, "expected a time, such as 30s");
		return 0;
	case OPTION_CONFIG:
		return 0; /* was read before */
	case OPTION_TO:
		return read_format(options, value);
	case OPTION_EVENT:
	case OPTION_FAULTS:
	case OPTION_SYSCALLS:
	case OPTION_IO:
	case OPTION_ALLOC:
	case OPTION_LIVE:
		/* The command line replaces a list as a whole. */
		if (options->has_events_of_config) {
			options->record.event_lists.length = 0;
			options->record.filters.length = 0;
		}
		options->has_events_of_config = false;
		break;
	}
	return record_options_handle(&options->record, id, value);
}

/*
 * The first pass over the command line only looks for --config: the file's options must be handled
 * first, so that those of the command line override them.
 */
static int find_config(int id, const char *value, void *context)
{
	struct capture_options *options = context;

	if (id == OPTION_CONFIG)
		options->config_path = value;
	return 0;
}

/* A file cannot name another configuration file. */
static const struct option_spec *find_spec(const char *name)
{
	for (const struct option_spec *spec = capture_option_specs; spec->name; spec++)
		if (string_equals(spec->name, name) && spec->id != OPTION_CONFIG)
			return spec;
	return NULL;
}

/* Remove blanks at both ends. */
static char *trim(char *text)
{
	size_t length;

	text += strspn(text, " \t\r");
	length = strlen(text);
	while (length && strchr(" \t\r", text[length - 1]))
		length--;
	text[length] = '\0';
	return text;
}

/*
 * The line is split in place: name and value stay in the text, which lives as long as the options.
 */
static int read_line(struct capture_options *options, char *line, const char *path,
		     unsigned int number, struct error *error)
{
	char *equals = strchr(line, '=');
	const struct option_spec *spec;
	const char *value = NULL;
	const char *name;

	if (equals) {
		*equals = '\0';
		value = trim(equals + 1);
	}
	name = trim(line);
	spec = find_spec(name);
	if (!spec)
		return error_set(error, -EINVAL, "%s:%u: unknown option '%s'", path, number, name);
	if (spec->argument && (!value || !*value))
		return error_set(error, -EINVAL, "%s:%u: expected '%s = %s'", path, number, name,
				 spec->argument);
	if (!spec->argument && value)
		return error_set(error, -EINVAL, "%s:%u: '%s' takes no value", path, number, name);
	return handle(spec->id, value, options);
}

int capture_options_read(struct capture_options *options, char *text, const char *path,
			 struct error *error)
{
	unsigned int number = 0;

	while (text) {
		char *line = trim(strsep(&text, "\n"));
		int err;

		number++;
		if (!*line || *line == '#')
			continue;
		err = read_line(options, line, path, number, error);
		if (err)
			return err;
	}
	return 0;
}

static int fail_to_read(const char *path, int err)
{
	log_error("cannot read '%s': %s", path, strerror(-err));
	return err;
}

/*
 * A capture is made with privileges, and the file decides where: anyone who can write it can have
 * files written and removed. It must be root's or ours; with sudo also the caller's.
 */
static int check_config(const char *path, const struct stat *status)
{
	const char *caller = geteuid() ? NULL : getenv("SUDO_UID");
	uint64_t caller_uid = 0;

	if (caller && option_read_number(caller, 0, UINT32_MAX, &caller_uid))
		caller_uid = 0;
	if (status->st_uid != 0 && status->st_uid != geteuid() && status->st_uid != caller_uid) {
		log_error("'%s' belongs to another user (uid %u), who could make stackwide write "
			  "and remove files: chown root %s",
			  path, status->st_uid, path);
		return -EPERM;
	}
	if (status->st_mode & S_IWOTH) {
		log_error("'%s' can be written by everybody: chmod o-w %s", path, path);
		return -EPERM;
	}
	if ((status->st_mode & S_IWGRP) && status->st_gid != 0 && status->st_gid != getegid()) {
		log_error("'%s' can be written by another group (gid %u): chmod g-w %s", path,
			  status->st_gid, path);
		return -EPERM;
	}
	return 0;
}

static int read_config(struct capture_options *options)
{
	struct stat status;
	/* A FIFO with this name must not hang a service at its start. */
	_cleanup_close_ int fd = file_open_regular(AT_FDCWD, options->config_path, 0, &status);
	struct error error = {0};
	int err;

	if (fd < 0)
		return fail_to_read(options->config_path, fd);
	err = check_config(options->config_path, &status);
	if (err)
		return err;
	err = file_read_fd(fd, MAX_CONFIG_BYTES, &options->config);
	if (err)
		return fail_to_read(options->config_path, err);
	text_append_string(&options->config, "");
	if (options->config.failed)
		return fail_to_read(options->config_path, -ENOMEM);
	err = capture_options_read(options, options->config.data, options->config_path, &error);
	if (error.message[0])
		log_error("%s", error.message);
	return err;
}

static int check(struct capture_options *options)
{
	if (!options->dir) {
		log_error("expected --dir DIR, the directory of the archive; see 'stackwide help "
			  "capture'");
		return -EINVAL;
	}
	return record_options_check(&options->record);
}

int capture_options_parse(struct capture_options *options, int argc, char **argv)
{
	int first_operand;
	int err;

	*options = (struct capture_options){
		.format = &format_pprof,
		.keep_s = DEFAULT_KEEP_S,
		.max_size_bytes = DEFAULT_SIZE_BYTES,
		.min_free_percent = DEFAULT_FREE_PERCENT,
	};
	record_options_init(&options->record);
	options->record.duration_ns = DEFAULT_DURATION_NS;
	err = options_parse(capture_option_specs, argc, argv, find_config, options, &first_operand);
	if (err)
		return err;
	if (options->config_path) {
		err = read_config(options);
		if (err)
			return err;
		options->has_events_of_config = options->record.event_lists.length > 0;
	}
	err = options_parse(capture_option_specs, argc, argv, handle, options, &first_operand);
	if (err)
		return err;
	if (first_operand < argc) {
		log_error("unexpected '%s'; see 'stackwide help capture'", argv[first_operand]);
		return -EINVAL;
	}
	return check(options);
}

void capture_options_release(struct capture_options *options)
{
	record_options_release(&options->record);
	text_release(&options->config);
}
