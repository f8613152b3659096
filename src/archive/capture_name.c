/* File names in an archive, and the data in them: time, host, number. */
#include "archive/archive.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "formats/format.h"

/* Keeps the name of the file below NAME_MAX, 255 bytes, with time, number and extension. */
#define MAX_HOST_BYTES 200

static bool is_host_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '-' || c == '_';
}

/*
 * A host's name is a foreign string: a slash in it must not lead to another folder. Only characters
 * that need no quotes in a shell stay.
 */
int capture_name_make(int64_t time_s, const char *host, uint32_t copy, const char *extension,
		      char ret[CAPTURE_NAME_BYTES])
{
	time_t time = (time_t)time_s;
	char clean[MAX_HOST_BYTES + 1];
	char number[16] = "";
	size_t length = 0;
	struct tm utc;

	if (!gmtime_r(&time, &utc) || utc.tm_year + 1900 < 1000 || utc.tm_year + 1900 > 9999)
		return -ERANGE;
	for (; length < MAX_HOST_BYTES && host[length]; length++)
		clean[length] = is_host_character(host[length]) ? host[length] : '-';
	if (!length)
		clean[length++] = '-';
	clean[length] = '\0';
	if (copy)
		snprintf(number, sizeof(number), ".%u", copy);
	snprintf(ret, CAPTURE_NAME_BYTES, "%04d/%02d/%02d/%02d%02d%02dZ-%s%s%s", utc.tm_year + 1900,
		 utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, clean, number,
		 extension);
	return 0;
}

/*
 * A number of exactly this many digits, in a range. sscanf() and strtol() would also accept signs,
 * blanks and fewer digits, and thus names that are not ours.
 */
static bool read_digits(const char *text, size_t num_digits, int low, int high, int *ret)
{
	int number = 0;

	for (size_t i = 0; i < num_digits; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		number = number * 10 + (text[i] - '0');
	}
	*ret = number;
	return number >= low && number <= high;
}

static bool is_number(const char *name, size_t num_digits, int low, int high, int *ret)
{
	return strlen(name) == num_digits && read_digits(name, num_digits, low, high, ret);
}

bool capture_name_is_year(const char *name, int *ret)
{
	return is_number(name, 4, 1000, 9999, ret);
}

bool capture_name_is_month(const char *name, int *ret)
{
	return is_number(name, 2, 1, 12, ret);
}

bool capture_name_is_day(const char *name, int *ret)
{
	return is_number(name, 2, 1, 31, ret);
}

/* Whether text is a host, perhaps followed by a number, and the extension of a format. */
static bool is_host_and_extension(const char *text)
{
	const struct format *format = format_find_path(text);
	size_t length;

	if (!format)
		return false;
	length = strlen(text) - strlen(format->extension);
	for (size_t i = 0; i < length; i++)
		if (!is_host_character(text[i]))
			return false;
	return length > 0;
}

bool capture_name_read(int year, int month, int day, const char *name, int64_t *ret_time_s)
{
	struct tm utc = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day};

	if (strlen(name) < strlen("HHMMSSZ-") || !read_digits(name, 2, 0, 23, &utc.tm_hour) ||
	    !read_digits(name + 2, 2, 0, 59, &utc.tm_min) ||
	    !read_digits(name + 4, 2, 0, 60, &utc.tm_sec) || name[6] != 'Z' || name[7] != '-' ||
	    !is_host_and_extension(name + 8))
		return false;
	/* timegm() turns the 31st of February into the 3rd of March, and stores that in utc. */
	*ret_time_s = (int64_t)timegm(&utc);
	return utc.tm_mday == day; /* no 31st of February */
}
