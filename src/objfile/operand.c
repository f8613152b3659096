#include "objfile/operand.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool operand_is_word(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && memcmp(text, word, length) == 0;
}

bool operand_read_number(const char *text, const char *end, int64_t *ret)
{
	char digits[24];
	char *stop;
	size_t length = (size_t)(end - text);

	if (!length || length >= sizeof(digits) || !strchr("-+0123456789", text[0]))
		return false;
	memcpy(digits, text, length);
	digits[length] = '\0';
	errno = 0;
	*ret = strtoll(digits, &stop, 0);
	return !*stop && !errno;
}
