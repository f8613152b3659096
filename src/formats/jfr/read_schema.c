/*
 * The metadata of a chunk: a table of strings, and a tree of elements like that of an XML file,
 * where every name and value is the number of a string:
 *
 *	root
 *	  metadata
 *	    class name="jdk.ThreadPark" id="112"
 *	      field name="duration" class="5"
 *	        annotation class="190" value="TICKS"        5 is long, 190 jdk.jfr.Timespan
 *	      field name="stackTrace" class="74" constantPool="true"
 *	  region locale="en_US"
 *
 * Numbers of classes differ from JVM to JVM; only the names are stable. A class may be used before
 * it is described, so fields keep the class's id until the whole tree is read (resolve()).
 */
#include "formats/jfr/read_schema.h"

#include <errno.h>

/* Deeper, and more, than any class of the JDK has; a class that contains itself must end. */
#define MAX_DEPTH  24
#define MAX_VALUES 2000

uint32_t jfr_schema_find_class_index(const struct jfr_schema *schema, uint64_t id)
{
	return jfr_class_table_find(&schema->classes, &(struct jfr_class){.id = id});
}

const struct jfr_class *jfr_schema_find_class(const struct jfr_schema *schema, uint64_t id)
{
	uint32_t found = jfr_schema_find_class_index(schema, id);

	return found == HASH_INDEX_NONE ? NULL : &schema->classes.items[found];
}

bool jfr_schema_string_equals(const struct jfr_schema *schema, uint32_t string, const char *text)
{
	struct jfr_cursor input = schema->chunk;

	if (string >= schema->strings.length)
		return false;
	input.offset = schema->strings.items[string].offset;
	return jfr_string_equals(input, text);
}

/*
 * Decided by name alone: no two classes that we read use one of these names with different
 * meanings.
 */
static uint32_t parse_role(const struct jfr_schema *schema, uint32_t name)
{
	static const struct {
		const char *name;
		enum jfr_role role;
	} roles[] = {
		{"name", JFR_NAME},
		{"value", JFR_VALUE},
		{"type", JFR_TYPE},
		{"string", JFR_STRING},
		{"osName", JFR_OS_NAME},
		{"osThreadId", JFR_OS_THREAD_ID},
		{"javaName", JFR_JAVA_NAME},
		{"truncated", JFR_TRUNCATED},
		{"frames", JFR_FRAMES},
		{"method", JFR_METHOD},
		{"lineNumber", JFR_LINE_NUMBER},
		{"stackTrace", JFR_STACK_TRACE},
		{"sampledThread", JFR_THREAD},
		{"eventThread", JFR_THREAD},
		{"state", JFR_STATE},
		{"samples", JFR_SAMPLES},
		{"failed", JFR_FAILED},
		{"pid", JFR_PID},
		{"startTime", JFR_START_TIME},
		{"description", JFR_DESCRIPTION},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(roles); i++)
		if (jfr_schema_string_equals(schema, name, roles[i].name))
			return roles[i].role;
	return JFR_OTHER;
}

/* Numbers are written as strings of digits, as in XML. */
static uint64_t parse_number(const struct jfr_schema *schema, uint32_t string)
{
	struct text text = {0};
	struct jfr_cursor input = schema->chunk;
	uint64_t number = 0;

	if (string >= schema->strings.length)
		return 0;
	input.offset = schema->strings.items[string].offset;
	(void)jfr_read_plain_string(&input, &text); /* no constants are known before the metadata */
	for (size_t i = 0; i < text.length && text.data[i] >= '0' && text.data[i] <= '9'; i++)
		number = number * 10 + (uint64_t)(text.data[i] - '0');
	text_release(&text);
	return number;
}

/* An annotation of a field; its class is known when all are read. */
struct annotation {
	uint32_t field;
	uint64_t class_id;
	uint32_t value;
};

enum owner { OWNER_NONE, OWNER_CLASS, OWNER_FIELD };

struct metadata {
	struct jfr_schema *schema;
	struct jfr_fault *fault;
	size_t offset; /* in the chunk */
	struct jfr_cursor input;
	ARRAY(struct annotation) annotations;
};

/* The attributes that any element has. */
struct attributes {
	uint32_t name;
	uint32_t value;
	uint64_t id;
	uint64_t class_id;
	bool is_pooled;
	bool is_array;
};

/* Attributes that an element lacks stay 0 or JFR_NONE; unknown keys are skipped. */
static void read_attributes(struct metadata *metadata, struct attributes *ret)
{
	struct jfr_schema *schema = metadata->schema;
	uint64_t count = jfr_read_int(&metadata->input);

	*ret = (struct attributes){.name = JFR_NONE, .value = JFR_NONE};
	for (uint64_t i = 0; i < count && !metadata->input.failed; i++) {
		uint32_t key = (uint32_t)jfr_read_int(&metadata->input);
		uint32_t value = (uint32_t)jfr_read_int(&metadata->input);

		if (jfr_schema_string_equals(schema, key, "name"))
			ret->name = value;
		else if (jfr_schema_string_equals(schema, key, "value"))
			ret->value = value;
		else if (jfr_schema_string_equals(schema, key, "id"))
			ret->id = parse_number(schema, value);
		else if (jfr_schema_string_equals(schema, key, "class"))
			ret->class_id = parse_number(schema, value);
		else if (jfr_schema_string_equals(schema, key, "constantPool"))
			ret->is_pooled = jfr_schema_string_equals(schema, value, "true");
		else if (jfr_schema_string_equals(schema, key, "dimension"))
			ret->is_array = parse_number(schema, value) != 0;
	}
}

/* Primitive types are classes as well, without fields; `pools` are those that we look things up in.
 */
static void set_kind(const struct jfr_schema *schema, struct jfr_class *class)
{
	static const struct {
		const char *name;
		enum jfr_kind kind;
		uint8_t width;
	} kinds[] = {
		{"boolean", JFR_INTEGER, 1},
		{"byte", JFR_INTEGER, 1},
		{"char", JFR_INTEGER, 2},
		{"short", JFR_INTEGER, 2},
		{"int", JFR_INTEGER, 4},
		{"long", JFR_INTEGER, 8},
		{"float", JFR_REAL, 4},
		{"double", JFR_REAL, 8},
		{"java.lang.String", JFR_TEXT, 0},
	};
	static const char *const pools[] = {"java.lang.Thread",     "java.lang.Class",
					    "jdk.types.Method",     "jdk.types.Symbol",
					    "jdk.types.StackTrace", "jdk.types.FrameType",
					    "java.lang.String",     "jdk.types.ThreadState"};

	for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
		if (jfr_schema_string_equals(schema, class->name, kinds[i].name)) {
			class->kind = (uint8_t)kinds[i].kind;
			class->width = kinds[i].width;
		}
	}
	for (size_t i = 0; i < ARRAY_LENGTH(pools); i++)
		class->is_pool_used |= jfr_schema_string_equals(schema, class->name, pools[i]);
}

static int add_class(struct jfr_schema *schema, const struct attributes *attributes)
{
	struct jfr_class class = {
		.id = attributes->id,
		.name = attributes->name,
		.first_field = (uint32_t)schema->fields.length,
	};
	uint32_t ignored; /* always the last one */

	set_kind(schema, &class);
	return jfr_class_table_add(&schema->classes, &class, &ignored);
}

/* Fields are behind those of the class before: a class has a range of them. */
static int add_field(struct jfr_schema *schema, const struct attributes *attributes)
{
	struct jfr_class *class = &schema->classes.items[schema->classes.length - 1];
	struct jfr_field *field = array_add(&schema->fields);

	if (!field)
		return -ENOMEM;
	field->class_id = attributes->class_id;
	field->name = attributes->name;
	field->role = (uint8_t)parse_role(schema, attributes->name);
	field->is_pooled = attributes->is_pooled;
	field->is_array = attributes->is_array;
	class->num_fields++;
	class->has_stack |= field->role == JFR_STACK_TRACE && field->is_pooled;
	return 0;
}

static int add_annotation(struct metadata *metadata, const struct attributes *attributes)
{
	struct annotation *annotation = array_add(&metadata->annotations);

	if (!annotation)
		return -ENOMEM;
	annotation->field = (uint32_t)metadata->schema->fields.length - 1;
	annotation->class_id = attributes->class_id;
	annotation->value = attributes->value;
	return 0;
}

/* A count that is too high ends when the input fails. */
static int read_element(struct metadata *metadata, enum owner owner, int depth)
{
	struct jfr_schema *schema = metadata->schema;
	uint32_t kind = (uint32_t)jfr_read_int(&metadata->input);
	enum owner inner = OWNER_NONE;
	struct attributes attributes;
	uint64_t count;
	int err = 0;

	read_attributes(metadata, &attributes);
	count = jfr_read_int(&metadata->input);
	if (metadata->input.failed || depth > MAX_DEPTH)
		return jfr_fail(metadata->fault, metadata->input.offset, "the metadata is damaged");
	if (jfr_schema_string_equals(schema, kind, "class")) {
		err = add_class(schema, &attributes);
		inner = OWNER_CLASS;
	} else if (owner == OWNER_CLASS && jfr_schema_string_equals(schema, kind, "field")) {
		err = add_field(schema, &attributes);
		inner = OWNER_FIELD;
	} else if (owner == OWNER_FIELD && jfr_schema_string_equals(schema, kind, "annotation")) {
		err = add_annotation(metadata, &attributes);
	}
	if (err)
		return err;
	for (uint64_t i = 0; i < count; i++) {
		err = read_element(metadata, inner, depth + 1);
		if (err)
			return err;
	}
	return 0;
}

static enum jfr_unit parse_unit(const struct jfr_schema *schema, uint32_t value)
{
	static const struct {
		const char *name;
		enum jfr_unit unit;
	} units[] = {
		{"TICKS", JFR_TICKS},
		{"NANOSECONDS", JFR_NANOSECONDS},
		{"MICROSECONDS", JFR_MICROSECONDS},
		{"MILLISECONDS", JFR_MILLISECONDS},
		{"SECONDS", JFR_SECONDS},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(units); i++)
		if (jfr_schema_string_equals(schema, value, units[i].name))
			return units[i].unit;
	return JFR_NO_UNIT;
}

/*
 * Count the values of a class with those of the structs in it. A hostile file can nest structs so
 * that a few bytes of metadata make billions of values, without a byte in an event: such a class is
 * marked, and reading it fails.
 */
static void measure_class(struct jfr_schema *schema, uint32_t id, int depth)
{
	struct jfr_class *class = &schema->classes.items[id];
	uint32_t count = 1;

	if (class->num_values)
		return;
	if (depth > MAX_DEPTH)
		class->is_endless = true;
	for (uint32_t i = 0; i < class->num_fields && !class->is_endless; i++) {
		const struct jfr_field *field = &schema->fields.items[class->first_field + i];

		count++;
		if (!field->is_array && !field->is_pooled) {
			measure_class(schema, field->class, depth + 1);
			count += schema->classes.items[field->class].num_values;
			class->is_endless |= schema->classes.items[field->class].is_endless;
		}
		class->is_endless |= count > MAX_VALUES;
	}
	class->num_values = (uint16_t)(class->is_endless ? MAX_VALUES : count);
}

static int resolve(struct metadata *metadata)
{
	struct jfr_schema *schema = metadata->schema;

	array_for_each (&schema->fields, field) {
		field->class = jfr_schema_find_class_index(schema, field->class_id);
		if (field->class == HASH_INDEX_NONE)
			return jfr_fail(metadata->fault, metadata->offset,
					"the metadata names a class that it does not describe");
	}
	for (uint32_t i = 0; i < schema->classes.length; i++)
		measure_class(schema, i, 0);
	array_for_each (&metadata->annotations, annotation) {
		const struct jfr_class *class = jfr_schema_find_class(schema, annotation->class_id);
		struct jfr_field *field = &schema->fields.items[annotation->field];

		if (!class || field->is_array || field->is_pooled ||
		    schema->classes.items[field->class].kind != JFR_INTEGER)
			continue;
		if (jfr_schema_string_equals(schema, class->name, "jdk.jfr.Timespan"))
			field->unit = (uint8_t)parse_unit(schema, annotation->value);
		else if (jfr_schema_string_equals(schema, class->name, "jdk.jfr.DataAmount"))
			field->unit = JFR_BYTES;
	}
	return 0;
}

/* Only the start of each is kept: most are compared with one name and never needed again. */
static int read_strings(struct metadata *metadata)
{
	uint64_t count = jfr_read_int(&metadata->input);

	for (uint64_t i = 0; i < count; i++) {
		struct jfr_string *string = array_add(&metadata->schema->strings);

		if (!string)
			return -ENOMEM;
		string->offset = (uint32_t)metadata->input.offset;
		(void)jfr_read_plain_string(&metadata->input, NULL); /* skipped */
		if (metadata->input.failed)
			return jfr_fail(metadata->fault, metadata->input.offset,
					"the metadata's strings are damaged");
	}
	return 0;
}

static void metadata_release(struct metadata *metadata)
{
	array_release(&metadata->annotations);
}

int jfr_schema_init(struct jfr_schema *schema, const struct jfr_cursor *chunk, size_t offset,
		    struct jfr_fault *fault)
{
	_cleanup_(metadata_release) struct metadata metadata = {
		.schema = schema, .fault = fault, .offset = offset, .input = *chunk};
	int err;

	*schema = (struct jfr_schema){.chunk = *chunk};
	metadata.input.offset = offset;
	(void)jfr_read_int(&metadata.input); /* size, type, start, duration, id */
	if (jfr_read_long(&metadata.input) != 0)
		metadata.input.failed = true;
	for (int i = 0; i < 3; i++)
		(void)jfr_read_long(&metadata.input);
	err = read_strings(&metadata);
	if (err)
		return err;
	err = read_element(&metadata, OWNER_NONE, 0);
	if (err)
		return err;
	return resolve(&metadata);
}

void jfr_schema_release(struct jfr_schema *schema)
{
	array_release(&schema->strings);
	jfr_class_table_release(&schema->classes);
	array_release(&schema->fields);
}
