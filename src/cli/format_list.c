#include "cli/format_list.h"

#include "base/text.h"
#include "cli/suggestion.h"
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

const char *format_list_suggest(const char *name, bool is_written)
{
	struct suggestion suggestion = {.wanted = name};

	for (const struct format *const *format = format_get_all(); *format; format++)
		if (is_written ? (*format)->write || *format == &format_page : !!(*format)->read)
			suggestion_offer(&suggestion, (*format)->name);
	return suggestion.word;
}
