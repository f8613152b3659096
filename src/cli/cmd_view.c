/*
 * `stackwide view`: the viewer's page, with profiles in it or empty, in the browser or in a file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/output_file.h"
#include "cli/files/archive_inputs.h"
#include "cli/files/format_list.h"
#include "cli/files/inputs.h"
#include "cli/options/command.h"
#include "formats/compression.h"
#include "viewer/page.h"

enum view_option { OPTION_VIEW_OUTPUT = 1 };

static const struct option_spec view_options[] = {
	{OPTION_VIEW_OUTPUT, 'o', "output", "FILE",
	 "write the page to FILE (- is standard output) and\n"
	 "do not open it"},
	INPUT_OPTION_SPECS,
	ARCHIVE_OPTION_SPECS,
	{0},
};

struct viewing {
	struct input_options inputs;
	struct archive_inputs archive;
	const char *output; /* NULL: show it in a browser */
};

static int handle(int id, const char *value, void *context)
{
	struct viewing *viewing = context;

	if (id >= (int)OPTION_ARCHIVE)
		return archive_inputs_handle(&viewing->archive, id, value);
	if (id >= (int)OPTION_FROM)
		return input_options_handle(&viewing->inputs, id, value);
	viewing->output = value;
	return 0;
}

static int write_bytes(void *context, const void *data, size_t size)
{
	return output_file_write(context, data, size);
}

/* profile  NULL: the empty page */
static int write_page(const char *path, mode_t mode, const struct profile *profile)
{
	static const struct format_opts opts;
	struct error error = {0};
	struct output_file *file = NULL;
	struct sink sink = {.write = write_bytes};
	int err;

	if (output_file_open(path, mode, &file, &error)) {
		log_error("%s", error.message);
		return EXIT_FAILED;
	}
	sink.context = file;
	err = profile ? format_html.write(profile, &opts, &sink) : viewer_page_write_empty(&sink);
	if (err)
		error_set(&error, err, "cannot write '%s': %s", path, strerror(-err));
	else
		err = output_file_commit(file, &error);
	output_file_free(file);
	if (err) {
		log_error("%s", error.message);
		return EXIT_FAILED;
	}
	return EXIT_DONE;
}

/*
 * A temporary file with an unpredictable name, for the browser to read. The caller frees. The name
 * is unpredictable, and made with mkostemps(): in a folder that everybody may write to, nobody can
 * have put a link in its place.
 */
static char *make_temporary(void)
{
	const char *folder = getenv("TMPDIR");
	char *path;
	int fd;

	if (asprintf(&path, "%s/stackwide-XXXXXX.html", folder && *folder ? folder : "/tmp") < 0)
		return NULL;
	fd = mkostemps(path, (int)strlen(".html"), O_CLOEXEC);
	if (fd < 0) {
		log_error("cannot create a file in '%s': %s", folder && *folder ? folder : "/tmp",
			  strerror(errno));
		free(path);
		return NULL;
	}
	close(fd);
	return path;
}

/*
 * Start a browser, which keeps running after we have exited. Returns whether that worked. The path
 * is an argument of the script, not part of it: it may contain any character.
 */
static bool open_browser(const char *path)
{
	/* The shell splits $BROWSER, and ends before the browser does. */
	static const char script[] =
		"set -f; for b in $BROWSER xdg-open; do command -v \"$b\" >/dev/null 2>&1 || "
		"continue; \"$b\" \"$0\" </dev/null >/dev/null 2>&1 & exit 0; done; exit 1";
	pid_t pid;
	int status;

	if (!getenv("BROWSER") && !getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY"))
		return false;
	pid = fork();
	if (pid == 0) {
		setsid();
		execl("/bin/sh", "sh", "-c", script, path, (char *)NULL);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

/* The page stays when we exit: the browser may read it at any time. */
static int show(const struct profile *profile)
{
	_cleanup_free_ char *path = make_temporary();
	int status = path ? write_page(path, OUTPUT_MODE_PRIVATE, profile) : EXIT_FAILED;

	if (status && path)
		unlink(path);
	if (status)
		return status;
	if (!open_browser(path))
		log_warning("no browser found: open this file in a browser");
	puts(path);
	return EXIT_DONE;
}

static int view(const struct viewing *viewing, char **paths, size_t num_paths)
{
	_cleanup_(profile_freep) struct profile *profile = num_paths ? profile_new() : NULL;
	int status = EXIT_DONE;

	if (!viewer_page_exists()) {
		log_error("this stackwide was built without the viewer; rebuild it with "
			  "wasi-libc and lld installed");
		return EXIT_FAILED;
	}
	if (num_paths && (!profile || profile_keep_timestamps(profile))) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	if (num_paths)
		status = inputs_read(paths, num_paths, &viewing->inputs, profile, NULL);
	if (status)
		return status;
	/* The page has all metrics; but report a chosen metric that does not exist. */
	if (viewing->inputs.metric && num_paths)
		status = inputs_choose_metric(profile, &viewing->inputs,
					      &(struct call_tree_opts){0});
	if (status)
		return status;
	return viewing->output ? write_page(viewing->output,
					    inputs_get_output_mode(paths, num_paths), profile)
			       : show(profile);
}

/* Whether the name is that of a file other than a page. */
static bool is_no_page(const char *path)
{
	const struct format *format = format_list_find_path(path).format;
	size_t length;

	if (format && format != &format_html) {
		log_error("-o '%s': view writes .html; 'stackwide convert' writes the format "
			  "%s",
			  path, format->name);
		return true;
	}
	if (compression_find_suffix(path, strlen(path), &length) == COMPRESSION_NONE)
		return false;
	log_error("-o '%s': a page is compressed already; end the name in .html", path);
	return true;
}

static int run_view(int argc, char **argv)
{
	struct viewing viewing = {0};
	struct input_paths paths = {0};
	int first;
	int parsed = options_parse(view_options, argc, argv, handle, &viewing, &first);
	int status;

	if (parsed)
		return parsed > 0 ? EXIT_SHOW_HELP : EXIT_USAGE;
	if (viewing.output && is_no_page(viewing.output))
		return EXIT_USAGE;
	status = archive_inputs_list(&viewing.archive, argv + first, (size_t)(argc - first), "view",
				     &paths);
	viewing.inputs.is_archive = viewing.archive.dir;
	if (!status)
		status = view(&viewing, paths.items.items, paths.items.length);
	input_paths_release(&paths);
	return status;
}

const struct command command_view = {
	.name = "view",
	.summary = "show profiles of any format in the browser",
	.usage = "Usage: stackwide view [IN...] [-o FILE.html] [OPTION...]\n"
		 "       stackwide view --dir DIR [--since TIME] [--until TIME] [OPTION...]",
	.help = "The page is a single file that works offline, in any browser, on any machine.\n"
		"More profiles can be dropped onto it. Without IN it is empty. It is opened with\n"
		"$BROWSER or the desktop's browser; without one, the path of the page is printed.\n\n"
		"Examples:\n"
		"  stackwide view night.folded\n"
		"  stackwide view before.pb.gz after.pb.gz -o report.html\n"
		"  stackwide view --dir /var/lib/stackwide --since yesterday\n",
	.options = view_options,
	.run = run_view,
};
