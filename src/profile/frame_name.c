/* Frame names for folded text, and the reasons for missing names. */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "profile/profile.h"

const char *unnamed_reason_get_name(enum unnamed_reason reason)
{
	switch (reason) {
	case UNNAMED_NOT:
		return "named";
	case UNNAMED_NO_MAPPING:
		return "no_mapping";
	case UNNAMED_NO_FILE:
		return "no_file";
	case UNNAMED_BUILD_ID_DIFFERS:
		return "build_id_differs";
	case UNNAMED_NO_SYMBOL:
		return "no_symbol";
	case UNNAMED_NOT_REACHED:
		return "not_reached";
	case NUM_UNNAMED_REASONS:
		break;
	}
	return "unknown";
}

/* Bytes above 0x7f are parts of UTF-8 characters, and no blanks. */
static bool is_blank(char c)
{
	return (unsigned char)c <= ' ' || c == 0x7f;
}

int profile_add_frame_name(struct profile *profile, const char *name, size_t length, uint32_t *ret)
{
	_cleanup_(text_release) struct text text = {0};

	while (length && is_blank(name[0]))
		name++, length--;
	while (length && is_blank(name[length - 1]))
		length--;
	if (!length)
		return profile_add_string(profile, UNKNOWN_NAME, ret);
	text_append(&text, name, length);
	if (text.failed)
		return -ENOMEM;
	for (size_t i = 0; i < length; i++) {
		if (text.data[i] == ';')
			text.data[i] = ':';
		else if (is_blank(text.data[i]))
			text.data[i] = ' ';
	}
	return string_table_add(profile_get_strings(profile), text.data, length, ret);
}

int profile_name_frame(struct profile *profile, const char *name, const char *full_name,
		       const char *module, struct frame *ret)
{
	int err = profile_add_frame_name(profile, name, strlen(name), &ret->name);

	if (err)
		return err;
	err = profile_add_string(profile, full_name, &ret->full_name);
	if (err)
		return err;
	return profile_add_string(profile, module, &ret->module);
}
