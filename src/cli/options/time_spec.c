/*
 * Times as people write them, in local time unless a zone follows. They are parsed from the front,
 * piece by piece, and nothing may be left. Days are checked against the calendar before mktime()
 * gets them, which would silently turn a 31st of February into a day of March.
 *
 * mktime() still does useful work: "yesterday" is today's date with one day less, also on the first
 * of a month, and with tm_isdst -1 it determines whether daylight saving applies then.
 */
#include "cli/options/time_spec.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/options/options.h"

#define SECONDS_PER_WEEK 604800

/* The rest of the text, which is parsed from the front. */
struct time_reader {
	const char *rest;
};

/* Exactly so many digits, in a range. */
static bool take_digits(struct time_reader *reader, int num_digits, int low, int high, int *ret)
{
	int number = 0;

	for (int i = 0; i < num_digits; i++) {
		if (!isdigit((unsigned char)reader->rest[i]))
			return false;
		number = number * 10 + (reader->rest[i] - '0');
	}
	if (number < low || number > high)
		return false;
	reader->rest += num_digits;
	*ret = number;
	return true;
}

static bool take_char(struct time_reader *reader, char c)
{
	if (*reader->rest != c)
		return false;
	reader->rest++;
	return true;
}

/* "today" must not match in "todays". */
static bool take_word(struct time_reader *reader, const char *word)
{
	if (!string_starts_with(reader->rest, word) ||
	    isalpha((unsigned char)reader->rest[strlen(word)]))
		return false;
	reader->rest += strlen(word);
	return true;
}

static int get_month_days(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && is_leap);
}

/* 2026-11-21 or 20261121. Both dashes or none. */
static bool take_date(struct time_reader *reader, struct tm *tm)
{
	int year, month, day;
	bool has_dashes;

	if (!take_digits(reader, 4, 1000, 9999, &year))
		return false;
	has_dashes = take_char(reader, '-');
	if (!take_digits(reader, 2, 1, 12, &month) || take_char(reader, '-') != has_dashes ||
	    !take_digits(reader, 2, 1, get_month_days(year, month), &day))
		return false;
	tm->tm_year = year - 1900;
	tm->tm_mon = month - 1;
	tm->tm_mday = day;
	return true;
}

/* Read a day as a word; tm contains today. */
static bool take_day_word(struct time_reader *reader, struct tm *tm)
{
	if (take_word(reader, "today"))
		return true;
	if (take_word(reader, "yesterday")) {
		tm->tm_mday--;
		return true;
	}
	if (take_word(reader, "tomorrow")) {
		tm->tm_mday++;
		return true;
	}
	return false;
}

/*
 * 03:12, 03:12:05, or without colons, 031205. Seconds follow a second colon, or, without colons,
 * four digits.
 */
static bool take_clock(struct time_reader *reader, struct tm *tm)
{
	bool has_colon;

	if (!take_digits(reader, 2, 0, 23, &tm->tm_hour))
		return false;
	has_colon = take_char(reader, ':');
	if (!take_digits(reader, 2, 0, 59, &tm->tm_min))
		return false;
	if (has_colon ? take_char(reader, ':') : isdigit((unsigned char)*reader->rest))
		return take_digits(reader, 2, 0, 59, &tm->tm_sec);
	return true;
}

/* Z, +01:00, +0100, -05; nothing is local time. */
static bool take_zone(struct time_reader *reader, bool *ret_is_local, int *ret_offset_s)
{
	int hours = 0;
	int minutes = 0;
	int sign = *reader->rest == '-' ? -1 : 1;

	*ret_offset_s = 0;
	*ret_is_local = *reader->rest == '\0';
	if (*ret_is_local || take_char(reader, 'Z'))
		return true;
	if (!take_char(reader, '+') && !take_char(reader, '-'))
		return false;
	if (!take_digits(reader, 2, 0, 14, &hours))
		return false;
	if (take_char(reader, ':') || *reader->rest)
		if (!take_digits(reader, 2, 0, 59, &minutes))
			return false;
	*ret_offset_s = sign * (hours * 3600 + minutes * 60);
	return true;
}

/* A zone's offset is the lead of its clocks over UTC. */
static int finish_time(struct tm *tm, bool is_local, int offset_s, int64_t *ret_s)
{
	time_t time;

	tm->tm_isdst = -1;
	time = is_local ? mktime(tm) : timegm(tm);
	*ret_s = (int64_t)time - offset_s;
	return 0;
}

/* A day, a time, or both. */
static int read_calendar(const char *text, int64_t now_s, int64_t *ret_s)
{
	struct time_reader reader = {text};
	time_t now = (time_t)now_s;
	bool is_local = true;
	int offset_s = 0;
	struct tm tm;

	if (!localtime_r(&now, &tm))
		return -EINVAL;
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	if (isdigit((unsigned char)text[0]) && isdigit((unsigned char)text[1]) && text[2] == ':')
		return take_clock(&reader, &tm) && !*reader.rest ? finish_time(&tm, true, 0, ret_s)
								 : -EINVAL;
	if (!take_day_word(&reader, &tm) && !take_date(&reader, &tm))
		return -EINVAL;
	if (take_char(&reader, ' ') || take_char(&reader, 'T'))
		if (!take_clock(&reader, &tm) || !take_zone(&reader, &is_local, &offset_s))
			return -EINVAL;
	return *reader.rest ? -EINVAL : finish_time(&tm, is_local, offset_s, ret_s);
}

/* Reads 2h of -2h. Durations have no weeks, which are common as ages. */
static int read_ago(const char *text, int64_t now_s, int64_t *ret_s)
{
	size_t length = strlen(text);
	uint64_t number;
	uint64_t ns;

	if (length > 1 && length < 8 && text[length - 1] == 'w') {
		char digits[8] = "";

		memcpy(digits, text, length - 1);
		if (option_read_number(digits, 0, 100000, &number))
			return -EINVAL;
		*ret_s = now_s - (int64_t)number * SECONDS_PER_WEEK;
		return 0;
	}
	if (option_read_duration(text, &ns))
		return -EINVAL;
	*ret_s = now_s - (int64_t)(ns / NS_PER_SECOND);
	return 0;
}

int time_spec_read(const char *text, int64_t now_s, int64_t *ret_s)
{
	uint64_t seconds;

	if (string_equals(text, "now")) {
		*ret_s = now_s;
		return 0;
	}
	if (text[0] == '-')
		return read_ago(text + 1, now_s, ret_s);
	if (text[0] == '@') {
		if (option_read_number(text + 1, 0, INT64_MAX, &seconds))
			return -EINVAL;
		*ret_s = (int64_t)seconds;
		return 0;
	}
	return read_calendar(text, now_s, ret_s);
}

/* Without FROM, the range has no start; without TO, it ends now. */
int time_spec_read_range(const char *text, int64_t now_s, int64_t *ret_since_s,
			 int64_t *ret_until_s)
{
	const char *dots = strstr(text, "..");
	_cleanup_free_ char *since = dots ? strndup(text, (size_t)(dots - text)) : NULL;
	int err = since ? 0 : -EINVAL;

	*ret_since_s = INT64_MIN;
	*ret_until_s = now_s;
	if (err)
		return err;
	if (*since) {
		err = time_spec_read(since, now_s, ret_since_s);
		if (err)
			return err;
	}
	if (dots[2]) {
		err = time_spec_read(dots + 2, now_s, ret_until_s);
		if (err)
			return err;
	}
	return *ret_until_s > *ret_since_s ? 0 : -ERANGE;
}
