#include "cli/options/terminal.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/output_file.h"

#define DEFAULT_COLUMNS 80

struct terminal terminal_get(void)
{
	const char *no_color = getenv("NO_COLOR");
	const char *kind = getenv("TERM");
	struct terminal terminal = {0};
	struct winsize size;

	if (!isatty(STDOUT_FILENO))
		return terminal;
	terminal.num_columns = DEFAULT_COLUMNS;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		terminal.num_columns = size.ws_col;
	terminal.has_color = !(no_color && *no_color) && kind && !string_equals(kind, "dumb");
	return terminal;
}

static int write_bytes(void *context, const void *data, size_t size)
{
	return output_file_write(context, data, size);
}

int terminal_write(int (*write)(void *context, const struct sink *sink), void *context,
		   struct error *error)
{
	struct output_file *file = NULL;
	int err = output_file_open("-", OUTPUT_MODE, &file, error);
	struct sink sink = {.write = write_bytes, .context = file};

	if (err)
		return err;
	err = write(context, &sink);
	if (err)
		error_set(error, err, "cannot write to standard output: %s", strerror(-err));
	else
		err = output_file_commit(file, error);
	output_file_free(file);
	return err;
}
