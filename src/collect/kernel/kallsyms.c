#include "collect/kernel/kallsyms.h"

#include <stdlib.h>
#include <string.h>

/* "ffffffff81c0a2d0 t __schedule"; of a module's, "\t[module]" follows the name. */
static bool parse_symbol(char *line, struct kallsyms_symbol *ret)
{
	char *end;
	size_t length;

	ret->is_of_module = strchr(line, '\t');
	ret->address = strtoull(line, &end, 16);
	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ')
		return false;
	length = strcspn(end + 3, " \t\n");
	memcpy(ret->name, end + 3, length);
	ret->name[length] = '\0';
	return length > 0;
}

/* Reads a line; the rest of a line that is too long is skipped. */
static bool read_line(FILE *kallsyms, char *ret, int size)
{
	int byte = 0;

	if (!fgets(ret, size, kallsyms))
		return false;
	if (strchr(ret, '\n'))
		return true;
	while (byte != EOF && byte != '\n')
		byte = fgetc(kallsyms);
	return true;
}

bool kallsyms_next(FILE *kallsyms, struct kallsyms_symbol *ret)
{
	char line[KALLSYMS_LINE_BYTES];

	while (read_line(kallsyms, line, sizeof(line)))
		if (parse_symbol(line, ret))
			return true;
	return false;
}
