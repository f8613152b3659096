/*
 * Values are in an event one after the other, without tags or lengths: after an unreadable value
 * the rest cannot be read either. So every field is read by its class, also those that nobody
 * needs.
 *
 * A value that is not a number is given as its offset in the chunk, for the caller to read.
 */
#include "formats/jfr/read_value.h"

/* A class that contains itself must end; no class of the JDK is as deep. */
#define MAX_DEPTH 24

static void skip_fields(const struct jfr_schema *schema, struct jfr_cursor *input, uint32_t class,
			int depth);

/* Read a value that is neither an array nor a key. */
static uint64_t read_single(const struct jfr_schema *schema, struct jfr_cursor *input,
			    uint32_t class, int depth)
{
	const struct jfr_class *type = &schema->classes.items[class];
	uint64_t offset = input->offset;

	switch ((enum jfr_kind)type->kind) {
	case JFR_INTEGER:
		return jfr_read_integer(input, type->width);
	case JFR_REAL:
		return jfr_read_big_endian(input, type->width);
	case JFR_TEXT:
		(void)jfr_read_plain_string(input, NULL);
		break;
	case JFR_STRUCT:
		skip_fields(schema, input, class, depth + 1);
		break;
	}
	return offset;
}

static uint64_t read_value(const struct jfr_schema *schema, struct jfr_cursor *input,
			   const struct jfr_field *field, int depth)
{
	uint64_t offset = input->offset;
	uint64_t count;

	if (depth > MAX_DEPTH)
		input->failed = true;
	if (!field->is_array)
		return field->is_pooled ? jfr_read_long(input)
					: read_single(schema, input, field->class, depth);
	/*
	 * The count may be anything; each element has to take bytes, so that the chunk's end ends
	 * the loop.
	 */
	count = jfr_read_int(input);
	for (uint64_t i = 0; i < count && !input->failed; i++) {
		size_t before = input->offset;

		if (field->is_pooled)
			(void)jfr_read_long(input); /* skipped */
		else
			(void)read_single(schema, input, field->class, depth);
		/* Elements without bytes could be any number. */
		if (input->offset == before)
			input->failed = true;
	}
	return offset;
}

static void skip_fields(const struct jfr_schema *schema, struct jfr_cursor *input, uint32_t class,
			int depth)
{
	const struct jfr_class *type = &schema->classes.items[class];

	if (type->is_endless)
		input->failed = true;
	for (uint32_t i = 0; i < type->num_fields && !input->failed; i++)
		(void)read_value(schema, input, &schema->fields.items[type->first_field + i],
				 depth);
}

uint64_t jfr_read_field(const struct jfr_schema *schema, struct jfr_cursor *input,
			const struct jfr_field *field)
{
	return read_value(schema, input, field, 0);
}

/* The fields that have a role, by role; the last one of several. */
void jfr_read_struct(const struct jfr_schema *schema, struct jfr_cursor *input, uint32_t class,
		     struct jfr_values *ret)
{
	const struct jfr_class *type = &schema->classes.items[class];

	for (int role = 0; role < NUM_JFR_ROLES; role++)
		ret->classes[role] = JFR_NONE;
	if (type->is_endless)
		input->failed = true;
	for (uint32_t i = 0; i < type->num_fields && !input->failed; i++) {
		const struct jfr_field *field = &schema->fields.items[type->first_field + i];

		ret->numbers[field->role] = read_value(schema, input, field, 0);
		ret->classes[field->role] = field->class;
	}
}
