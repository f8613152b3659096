#include "cli/outputs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int choose_format(const struct output_request *request, const struct format **ret,
			 struct error *error)
{
	if (request->format) {
		*ret = format_find_name(request->format);
		if (!*ret || !(*ret)->write)
			return error_set(error, -EINVAL,
					 "there is no format '%s' to write; 'stackwide help "
					 "formats' lists them",
					 request->format);
		return 0;
	}
	if (!request->path) {
		*ret = &format_folded;
		return 0;
	}
	if (string_equals(request->path, "-"))
		return error_set(
			error, -EINVAL,
			"standard output needs a format: add --to, as in '-o - --to folded'");
	*ret = format_find_path(request->path);
	if (!*ret)
		return error_set(error, -EINVAL,
				 "the name '%s' does not tell its format; end it in .folded or "
				 "another extension of 'stackwide help formats', or add --to",
				 request->path);
	return 0;
}

int outputs_init(struct outputs *outputs, const struct output_request *requests,
		 size_t num_requests, struct error *error)
{
	*outputs = (struct outputs){0};
	outputs->items = calloc(num_requests, sizeof(*outputs->items));
	if (!outputs->items)
		return error_set(error, -ENOMEM, "out of memory");
	outputs->length = num_requests;
	for (size_t i = 0; i < num_requests; i++) {
		int err = choose_format(&requests[i], &outputs->items[i].format, error);

		if (err)
			return err;
	}
	return 0;
}

int outputs_open(struct outputs *outputs, const struct output_request *requests,
		 struct error *error)
{
	for (size_t i = 0; i < outputs->length; i++) {
		struct output *output = &outputs->items[i];
		_cleanup_free_ char *name = NULL;
		int err;

		if (!requests[i].path) {
			name = outputs_make_name(output->format->extension);
			if (!name)
				return error_set(error, -ENOMEM, "out of memory");
		}
		err = output_file_open(name ? name : requests[i].path, &output->file, error);
		if (err)
			return err;
	}
	return 0;
}

static int write_bytes(void *context, const void *data, size_t size)
{
	return output_file_write(context, data, size);
}

int outputs_write(struct outputs *outputs, const struct profile *profile,
		  const struct format_opts *opts, struct error *error)
{
	int err = 0;

	for (size_t i = 0; i < outputs->length; i++) {
		struct output *output = &outputs->items[i];
		struct sink sink = {.write = write_bytes, .context = output->file};

		err = output->format->write(profile, opts, &sink);
		if (err)
			return error_set(error, err, "cannot write '%s': %s",
					 output_file_get_path(output->file), strerror(-err));
	}
	for (size_t i = 0; !err && i < outputs->length; i++)
		err = output_file_commit(outputs->items[i].file, error);
	return err;
}

void outputs_abandon(const struct outputs *outputs)
{
	for (size_t i = 0; outputs && i < outputs->length; i++)
		if (outputs->items[i].file)
			output_file_abandon(outputs->items[i].file);
}

void outputs_release(struct outputs *outputs)
{
	for (size_t i = 0; i < outputs->length; i++)
		output_file_free(outputs->items[i].file);
	free(outputs->items);
	*outputs = (struct outputs){0};
}

char *outputs_make_name(const char *extension)
{
	time_t now = time(NULL);
	struct tm local;
	char host[256] = "";
	char stamp[32];
	char *name;

	if (gethostname(host, sizeof(host) - 1) || !host[0] || strchr(host, '/'))
		strcpy(host, "localhost");
	localtime_r(&now, &local);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S", &local);
	return asprintf(&name, "stackwide-%s-%s%s", host, stamp, extension) < 0 ? NULL : name;
}
