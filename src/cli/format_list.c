#include "cli/format_list.h"

#include "base/text.h"
#include "viewer/page.h"

const struct format *format_list_find_name(const char *name)
{
	return string_equals(name, format_html.name) ? &format_html : format_find_name(name);
}

const struct format *format_list_find_path(const char *path)
{
	return string_ends_with(path, format_html.extension) ? &format_html
							     : format_find_path(path);
}

void format_list_for_each(void (*show)(const struct format *format, void *context), void *context)
{
	for (const struct format *const *format = format_get_all(); *format; format++)
		show(*format == &format_page ? &format_html : *format, context);
}
