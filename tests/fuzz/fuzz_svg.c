/* Flame graphs as SVG, ours and others'. What was read, written and read again is the same. */
#include "base/text.h"
#include "import_fuzz.h"

static int append(void *context, const void *data, size_t size)
{
	text_append(context, data, size);
	return 0;
}

/* Empty when the sums leave 64 bits. */
static struct text write_text(const struct format *format, const struct profile *profile)
{
	struct text text = {0};
	struct sink sink = {.write = append, .context = &text};
	struct format_opts opts = {.tree = {.root = TREE_ROOT_TID}};
	int err = format->write(profile, &opts, &sink);

	require((!err && !text.failed) || err == -EOVERFLOW);
	if (err)
		text_release(&text);
	return text;
}

/* NULL when it cannot be read. */
static struct profile *read_text(const char *data, size_t size)
{
	struct profile *profile = profile_new();
	struct import import = {
		.name = "FILE",
		.data = (const uint8_t *)data,
		.size = size,
		.profile = profile,
	};

	require(profile && profile_add_source(profile, STRING_EMPTY, &import.source) == 0);
	if (format_svg.read(&import) == 0)
		return profile;
	profile_free(profile);
	return NULL;
}

static void compare(const struct profile *profile, const struct profile *again)
{
	struct text a = write_text(&format_folded, profile);
	struct text b = write_text(&format_folded, again);

	require(a.length == b.length && (!a.length || !memcmp(a.data, b.data, a.length)));
	text_release(&a);
	text_release(&b);
}

static void read_again(struct profile *profile)
{
	struct text svg = write_text(&format_svg, profile);
	struct profile *again = svg.length ? read_text(svg.data, svg.length) : NULL;

	require(again || !svg.length);
	if (again)
		compare(profile, again);
	text_release(&svg);
	profile_free(again);
	profile_free(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *profile = read_text((const char *)data, size);

	if (profile)
		read_again(profile);
	return fuzz_import(&format_svg, data, size);
}
