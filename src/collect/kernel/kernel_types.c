/*
 * Two passes over the kernel's types: the first finds where each type is, and which have a wanted
 * name; the second copies these. A member that is a struct or union is copied likewise, with
 * everything in it. Targets of pointers are not, because CO-RE never follows one.
 */
#include "collect/kernel/kernel_types.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/text.h"

#define TYPES_PATH "/sys/kernel/btf/vmlinux"
/* Limits, far above those of kernels: 6 MB and some 6 levels. */
#define MAX_BYTES  (256u << 20)
#define MAX_LEVELS 32

typedef ARRAY(char *) names_t;

struct copier {
	const uint8_t *types; /* the section of types; they begin with number 1 */
	size_t types_size;
	const char *strings;
	size_t strings_size;     /* its last byte is NUL */
	ARRAY(uint32_t) offsets; /* of each type in the section; that of 0, void, is unused */
	ARRAY(uint32_t) copies;  /* number of each type's copy; 0: it has none */
	ARRAY(uint32_t) found;   /* types with a wanted name */
	names_t type_names;      /* wanted, sorted */
	names_t member_names;
	struct btf *copy;
	uint32_t pointer; /* in the copy; 0: not yet */
	uint32_t index;   /* of arrays, likewise */
};

static void names_release(names_t *names)
{
	array_for_each (names, name)
		free(*name);
	array_release(names);
}

static void copier_release(struct copier *copier)
{
	array_release(&copier->offsets);
	array_release(&copier->copies);
	array_release(&copier->found);
	names_release(&copier->type_names);
	names_release(&copier->member_names);
	btf__free(copier->copy);
}

/* ---- names -------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_names(names_t *names)
{
	if (names->length)
		qsort(names->items, names->length, sizeof(char *), compare_names);
}

static bool is_wanted(const names_t *names, const char *name)
{
	return names->length &&
	       bsearch(&name, names->items, names->length, sizeof(char *), compare_names);
}

/* Three underscores end the kernel's name of a type: the rest tells variants of ours apart. */
static size_t name_length(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = length; i-- > 1;)
		if (string_starts_with(name + i, "___"))
			return i;
	return length;
}

static int add_name(names_t *names, const struct btf *btf, uint32_t offset)
{
	const char *name = btf__name_by_offset(btf, offset);
	char **added;

	if (!name || !name[0])
		return 0;
	added = array_add(names);
	if (!added)
		return -ENOMEM;
	*added = strndup(name, name_length(name));
	return *added ? 0 : -ENOMEM;
}

static int collect_names_of(struct copier *copier, const struct btf *wanted,
			    const struct btf_type *type)
{
	int err;

	if (!btf_is_composite(type) && !btf_is_any_enum(type))
		return 0;
	err = add_name(&copier->type_names, wanted, type->name_off);
	if (err || !btf_is_composite(type))
		return err;
	for (uint32_t i = 0; i < btf_vlen(type) && !err; i++)
		err = add_name(&copier->member_names, wanted, btf_members(type)[i].name_off);
	return err;
}

static int collect_names(struct copier *copier, const struct btf *wanted)
{
	for (uint32_t i = 1; i < btf__type_cnt(wanted); i++) {
		int err = collect_names_of(copier, wanted, btf__type_by_id(wanted, i));

		if (err)
			return err;
	}
	sort_names(&copier->type_names);
	sort_names(&copier->member_names);
	return 0;
}

/* ---- the kernel's types ------------------------------------------------------------------- */

static const struct btf_type *get_type(const struct copier *copier, uint32_t number)
{
	if (!number || number >= copier->offsets.length)
		return NULL;
	return (const void *)(copier->types + copier->offsets.items[number]);
}

/* "" outside of the strings. */
static const char *get_name(const struct copier *copier, uint32_t offset)
{
	return offset < copier->strings_size ? copier->strings + offset : "";
}

/* Bytes of a type with its members or values; 0 for an unknown kind. */
static size_t type_size(const struct btf_type *type)
{
	size_t count = btf_vlen(type);

	switch (btf_kind(type)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(*type) + sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		return sizeof(*type) + sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return sizeof(*type) + count * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return sizeof(*type) + count * sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		return sizeof(*type) + count * sizeof(struct btf_enum64);
	case BTF_KIND_FUNC_PROTO:
		return sizeof(*type) + count * sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return sizeof(*type) + count * sizeof(struct btf_var_secinfo);
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return sizeof(*type);
	default:
		return 0;
	}
}

static int note_type(struct copier *copier, const struct btf_type *type, uint32_t offset)
{
	uint32_t *added = array_add(&copier->offsets);

	if (!added)
		return -ENOMEM;
	*added = offset;
	if ((!btf_is_composite(type) && !btf_is_any_enum(type)) ||
	    !is_wanted(&copier->type_names, get_name(copier, type->name_off)))
		return 0;
	added = array_add(&copier->found);
	if (!added)
		return -ENOMEM;
	*added = (uint32_t)copier->offsets.length - 1;
	return 0;
}

static int find_types(struct copier *copier)
{
	if (!array_add(&copier->offsets)) /* void */
		return -ENOMEM;
	for (size_t offset = 0; offset < copier->types_size;) {
		const struct btf_type *type = (const void *)(copier->types + offset);
		size_t left = copier->types_size - offset;
		size_t size = left < sizeof(*type) ? 0 : type_size(type);
		int err;

		if (!size || size > left || size % sizeof(uint32_t))
			return -ENOTSUP;
		err = note_type(copier, type, (uint32_t)offset);
		if (err)
			return err;
		offset += size;
	}
	return 0;
}

static int find_sections(struct copier *copier, const void *types, size_t size)
{
	const struct btf_header *header = types;
	const uint8_t *rest;
	size_t left;

	if (size < sizeof(*header) || header->magic != BTF_MAGIC ||
	    header->version != BTF_VERSION || header->hdr_len < sizeof(*header) ||
	    header->hdr_len > size)
		return -ENOTSUP;
	rest = (const uint8_t *)types + header->hdr_len;
	left = size - header->hdr_len;
	if (header->type_off > left || header->type_len > left - header->type_off ||
	    header->str_off > left || header->str_len > left - header->str_off ||
	    !header->str_len || (header->hdr_len | header->type_off) % sizeof(uint32_t))
		return -ENOTSUP;
	copier->types = rest + header->type_off;
	copier->types_size = header->type_len;
	copier->strings = (const char *)rest + header->str_off;
	copier->strings_size = header->str_len;
	return copier->strings[copier->strings_size - 1] ? -ENOTSUP : 0;
}

/* ---- copying ------------------------------------------------------------------------------ */

/* The number of a new type, or an error of libbpf. */
static int take_number(int number, uint32_t *ret)
{
	if (number < 0)
		return number == -ENOMEM ? -ENOMEM : -ENOTSUP;
	*ret = (uint32_t)number;
	return 0;
}

static int copy_type(struct copier *copier, uint32_t number, unsigned int level, uint32_t *ret);

static int copy_pointer(struct copier *copier, uint32_t *ret)
{
	int err =
		copier->pointer ? 0 : take_number(btf__add_ptr(copier->copy, 0), &copier->pointer);

	*ret = copier->pointer;
	return err;
}

static int copy_int(struct copier *copier, const struct btf_type *type, uint32_t *ret)
{
	return take_number(btf__add_int(copier->copy, get_name(copier, type->name_off), type->size,
					btf_int_encoding(type)),
			   ret);
}

static int copy_array(struct copier *copier, const struct btf_type *type, unsigned int level,
		      uint32_t *ret)
{
	const struct btf_array *array = btf_array(type);
	uint32_t element;
	int err = copy_type(copier, array->type, level, &element);

	if (err)
		return err;
	if (!copier->index) {
		err = take_number(btf__add_int(copier->copy, "index", sizeof(uint32_t), 0),
				  &copier->index);
		if (err)
			return err;
	}
	return take_number(
		btf__add_array(copier->copy, (int)copier->index, (int)element, array->nelems), ret);
}

static int copy_enum(struct copier *copier, const struct btf_type *type, uint32_t *ret)
{
	bool is_long = btf_kind(type) == BTF_KIND_ENUM64;
	const char *name = get_name(copier, type->name_off);
	int err = take_number(
		is_long ? btf__add_enum64(copier->copy, name, type->size, btf_kflag(type))
			: btf__add_enum(copier->copy, name, type->size),
		ret);

	for (uint32_t i = 0; i < btf_vlen(type) && !err; i++) {
		uint32_t added;

		if (is_long) {
			const struct btf_enum64 *value = &btf_enum64(type)[i];

			err = btf__add_enum64_value(copier->copy, get_name(copier, value->name_off),
						    btf_enum64_value(value));
		} else {
			const struct btf_enum *value = &btf_enum(type)[i];

			err = btf__add_enum_value(copier->copy, get_name(copier, value->name_off),
						  value->val);
		}
		err = take_number(err, &added);
	}
	return err;
}

/* Members without a name are structs or unions with members that may be wanted. */
static bool is_member_wanted(const struct copier *copier, const struct btf_member *member)
{
	const char *name = get_name(copier, member->name_off);

	return !name[0] || is_wanted(&copier->member_names, name);
}

static int add_members(struct copier *copier, const struct btf_type *type, const uint32_t *numbers)
{
	for (uint32_t i = 0; i < btf_vlen(type); i++) {
		const struct btf_member *member = &btf_members(type)[i];
		int err;

		if (!numbers[i])
			continue;
		err = btf__add_field(copier->copy, get_name(copier, member->name_off),
				     (int)numbers[i], btf_member_bit_offset(type, i),
				     btf_member_bitfield_size(type, i));
		if (err)
			return err == -ENOMEM ? -ENOMEM : -ENOTSUP;
	}
	return 0;
}

static int copy_struct(struct copier *copier, const struct btf_type *type, unsigned int level,
		       uint32_t *ret)
{
	const char *name = get_name(copier, type->name_off);
	_cleanup_free_ uint32_t *numbers = calloc(btf_vlen(type) + 1u, sizeof(*numbers));
	int err = 0;

	if (!numbers)
		return -ENOMEM;
	/* Before the struct itself: libbpf adds members to the last type. */
	for (uint32_t i = 0; i < btf_vlen(type) && !err; i++)
		if (is_member_wanted(copier, &btf_members(type)[i]))
			err = copy_type(copier, btf_members(type)[i].type, level, &numbers[i]);
	if (err)
		return err;
	err = take_number(btf_kind(type) == BTF_KIND_STRUCT
				  ? btf__add_struct(copier->copy, name, type->size)
				  : btf__add_union(copier->copy, name, type->size),
			  ret);
	return err ? err : add_members(copier, type, numbers);
}

/* Skip names and qualifiers. NULL if too many follow each other. */
static const struct btf_type *resolve(const struct copier *copier, uint32_t *number)
{
	for (unsigned int i = 0; i < MAX_LEVELS; i++) {
		const struct btf_type *type = get_type(copier, *number);

		if (!type || (!btf_is_mod(type) && !btf_is_typedef(type)))
			return type;
		*number = type->type;
	}
	return NULL;
}

static int copy_resolved(struct copier *copier, const struct btf_type *type, unsigned int level,
			 uint32_t *ret)
{
	switch (btf_kind(type)) {
	case BTF_KIND_PTR:
		return copy_pointer(copier, ret);
	case BTF_KIND_INT:
		return copy_int(copier, type, ret);
	case BTF_KIND_FLOAT:
		return take_number(
			btf__add_float(copier->copy, get_name(copier, type->name_off), type->size),
			ret);
	case BTF_KIND_ARRAY:
		return copy_array(copier, type, level, ret);
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		return copy_enum(copier, type, ret);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return copy_struct(copier, type, level, ret);
	default:
		return -ENOTSUP;
	}
}

static int copy_type(struct copier *copier, uint32_t number, unsigned int level, uint32_t *ret)
{
	const struct btf_type *type = resolve(copier, &number);
	int err = 0;

	if (!type || level == MAX_LEVELS)
		return -ENOTSUP;
	if (!copier->copies.items[number])
		err = copy_resolved(copier, type, level + 1, &copier->copies.items[number]);
	*ret = copier->copies.items[number];
	return err;
}

static int copy_found(struct copier *copier)
{
	if (array_reserve(&copier->copies, copier->offsets.length))
		return -ENOMEM;
	memset(copier->copies.items, 0, copier->offsets.length * sizeof(uint32_t));
	array_for_each (&copier->found, number) {
		uint32_t copy;
		int err = copy_type(copier, *number, 0, &copy);

		if (err)
			return err;
	}
	return 0;
}

int kernel_types_copy(const void *types, size_t size, const struct btf *wanted, struct btf **ret)
{
	_cleanup_(copier_release) struct copier copier = {.copy = btf__new_empty()};
	int err;

	if (!copier.copy)
		return -ENOMEM;
	err = find_sections(&copier, types, size);
	if (err)
		return err;
	err = collect_names(&copier, wanted);
	if (err)
		return err;
	err = find_types(&copier);
	if (err)
		return err;
	err = copy_found(&copier);
	if (err)
		return err;
	*ret = copier.copy;
	copier.copy = NULL;
	return 0;
}

/* ---- of the running kernel ---------------------------------------------------------------- */

static int write_types(const void *types, size_t size, const struct btf *wanted, int fd)
{
	struct btf *copy;
	const void *data;
	uint32_t num_bytes;
	int err = kernel_types_copy(types, size, wanted, &copy);

	if (err)
		return err;
	data = btf__raw_data(copy, &num_bytes);
	err = data ? file_write_fd(fd, data, num_bytes) : -ENOMEM;
	btf__free(copy);
	return err;
}

static int read_and_write(int types_fd, const struct btf *wanted, int fd)
{
	_cleanup_(text_release) struct text types = {0};
	int err = file_read_fd(types_fd, MAX_BYTES, &types);

	return err ? err : write_types(types.data, types.length, wanted, fd);
}

/* Since Linux 6.16 the types can be mapped, which copies none. */
int kernel_types_write(const struct btf *wanted, int fd)
{
	_cleanup_close_ int types_fd = open(TYPES_PATH, O_RDONLY | O_CLOEXEC);
	struct stat status;
	size_t size;
	void *types;
	int err;

	if (types_fd < 0 || fstat(types_fd, &status))
		return -errno;
	size = status.st_size > 0 && status.st_size <= MAX_BYTES ? (size_t)status.st_size : 0;
	types = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, types_fd, 0) : MAP_FAILED;
	if (types == MAP_FAILED)
		return read_and_write(types_fd, wanted, fd);
	err = write_types(types, size, wanted, fd);
	munmap(types, size);
	return err;
}
