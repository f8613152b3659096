#include "collect/kernel/kernel_types.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/attributes.h"
#include "unit.h"
#include <sampler.skel.h>

static int add(int number)
{
	assert_true(number > 0);
	return number;
}

static void add_field(struct btf *btf, const char *name, int type, uint32_t bit, uint32_t num_bits)
{
	assert_int_equal(btf__add_field(btf, name, type, bit, num_bits), 0);
}

/* The types of a program: structs with members of any kind, and an enumeration. */
static struct btf *make_wanted(void)
{
	struct btf *btf = btf__new_empty();
	int number = add(btf__add_int(btf, "int", 4, BTF_INT_SIGNED));

	add(btf__add_struct(btf, "task", 12));
	add_field(btf, "pid", number, 0, 0);
	add_field(btf, "hidden", number, 32, 0);
	add_field(btf, "place", number, 64, 0);
	add(btf__add_struct(btf, "task___old", 4));
	add_field(btf, "state", number, 0, 0);
	add(btf__add_struct(btf, "absent", 4));
	add_field(btf, "x", number, 0, 0);
	add(btf__add_enum(btf, "helper", 4));
	assert_int_equal(btf__add_enum_value(btf, "HELPER_a", 1), 0);
	add(btf__add_enum64(btf, "mask", 8, false));
	assert_int_equal(btf__add_enum64_value(btf, "MASK_a", 1), 0);
	return btf;
}

/* Among types of every kind that nobody wants. */
static struct btf *make_kernel(void)
{
	struct btf *btf = btf__new_empty();
	int number = add(btf__add_int(btf, "int", 4, BTF_INT_SIGNED));
	int name = add(btf__add_typedef(btf, "pid_t", add(btf__add_const(btf, number))));
	int real = add(btf__add_float(btf, "double", 8));
	int array = add(btf__add_array(btf, number, name, 3));
	int pointer = add(btf__add_ptr(btf, name));
	int function = add(btf__add_func_proto(btf, number));
	int place;
	int inner;
	int variable;

	assert_int_equal(btf__add_func_param(btf, "a", number), 0);
	add(btf__add_func(btf, "open", BTF_FUNC_GLOBAL, function));
	variable = add(btf__add_var(btf, "jiffies", BTF_VAR_GLOBAL_ALLOCATED, number));
	add(btf__add_datasec(btf, ".data", 4));
	assert_int_equal(btf__add_datasec_var_info(btf, variable, 0, 4), 0);
	add(btf__add_decl_tag(btf, "tag", variable, -1));
	add(btf__add_type_tag(btf, "user", number));
	add(btf__add_fwd(btf, "later", BTF_FWD_STRUCT));
	place = add(btf__add_struct(btf, "place", 24));
	add_field(btf, "x", real, 64, 0);
	add_field(btf, "y", array, 128, 0);
	inner = add(btf__add_union(btf, NULL, 4));
	add_field(btf, "hidden", name, 0, 0);
	add_field(btf, "unwanted", number, 0, 0);
	add(btf__add_struct(btf, "task", 64));
	add_field(btf, "state", pointer, 0, 0);
	add_field(btf, "unwanted", place, 64, 0);
	add_field(btf, "pid", number, 259, 3);
	add_field(btf, "", inner, 288, 0);
	add_field(btf, "place", place, 320, 0);
	add(btf__add_enum(btf, "helper", 4));
	assert_int_equal(btf__add_enum_value(btf, "HELPER_a", 7), 0);
	assert_int_equal(btf__add_enum_value(btf, "HELPER_b", -8), 0);
	add(btf__add_enum64(btf, "mask", 8, true));
	assert_int_equal(btf__add_enum64_value(btf, "MASK_a", 1ull << 40), 0);
	add(btf__add_struct(btf, "other", 8));
	add_field(btf, "pid", number, 0, 0);
	return btf;
}

static const struct btf_type *find(const struct btf *btf, const char *name, uint32_t kind)
{
	int number = btf__find_by_name_kind(btf, name, kind);

	return number < 0 ? NULL : btf__type_by_id(btf, (uint32_t)number);
}

static const struct btf_member *find_member(const struct btf *btf, const struct btf_type *type,
					    const char *name, uint32_t *ret_bit, uint32_t *ret_bits)
{
	for (uint32_t i = 0; i < btf_vlen(type); i++) {
		const struct btf_member *member = &btf_members(type)[i];

		if (!strcmp(btf__name_by_offset(btf, member->name_off), name)) {
			*ret_bit = btf_member_bit_offset(type, i);
			*ret_bits = btf_member_bitfield_size(type, i);
			return member;
		}
	}
	return NULL;
}

static void assert_member(const struct btf *btf, const struct btf_type *type, const char *name,
			  uint32_t kind, uint32_t bit, uint32_t num_bits)
{
	uint32_t its_bit;
	uint32_t its_bits;
	const struct btf_member *member = find_member(btf, type, name, &its_bit, &its_bits);

	assert_non_null(member);
	assert_int_equal(its_bit, bit);
	assert_int_equal(its_bits, num_bits);
	assert_int_equal(btf_kind(btf__type_by_id(btf, member->type)), kind);
}

static struct btf *copy(const struct btf *kernel, const struct btf *wanted)
{
	uint32_t size;
	const void *types = btf__raw_data(kernel, &size);
	struct btf *copied = NULL;

	assert_int_equal(kernel_types_copy(types, size, wanted, &copied), 0);
	return copied;
}

static void wanted_types_have_their_wanted_members(void **state _unused_)
{
	struct btf *wanted = make_wanted();
	struct btf *kernel = make_kernel();
	struct btf *copied = copy(kernel, wanted);
	const struct btf_type *task = find(copied, "task", BTF_KIND_STRUCT);
	const struct btf_type *place = find(copied, "place", BTF_KIND_STRUCT);
	const struct btf_type *type;
	uint32_t ignored;

	assert_int_equal(task->size, 64);
	assert_int_equal(btf_vlen(task), 4);
	assert_member(copied, task, "state", BTF_KIND_PTR, 0, 0);
	assert_member(copied, task, "pid", BTF_KIND_INT, 259, 3);
	assert_member(copied, task, "", BTF_KIND_UNION, 288, 0);
	assert_member(copied, task, "place", BTF_KIND_STRUCT, 320, 0);
	type = btf__type_by_id(copied, find_member(copied, task, "", &ignored, &ignored)->type);
	assert_int_equal(btf_vlen(type), 1);
	assert_member(copied, type, "hidden", BTF_KIND_INT, 0, 0);
	/* "x" is a member of another wanted type; nobody has a "y". */
	assert_int_equal(place->size, 24);
	assert_int_equal(btf_vlen(place), 1);
	assert_member(copied, place, "x", BTF_KIND_FLOAT, 64, 0);
	btf__free(copied);
	btf__free(kernel);
	btf__free(wanted);
}

static void enumerations_have_all_values(void **state _unused_)
{
	struct btf *wanted = make_wanted();
	struct btf *kernel = make_kernel();
	struct btf *copied = copy(kernel, wanted);
	const struct btf_type *helper = find(copied, "helper", BTF_KIND_ENUM);
	const struct btf_type *mask = find(copied, "mask", BTF_KIND_ENUM64);

	assert_int_equal(btf_vlen(helper), 2);
	assert_string_equal(btf__name_by_offset(copied, btf_enum(helper)[0].name_off), "HELPER_a");
	assert_int_equal(btf_enum(helper)[0].val, 7);
	assert_int_equal(btf_enum(helper)[1].val, -8);
	assert_int_equal(btf_vlen(mask), 1);
	assert_true(btf_enum64_value(btf_enum64(mask)) == 1ull << 40);
	btf__free(copied);
	btf__free(kernel);
	btf__free(wanted);
}

static void types_without_a_wanted_name_are_left_out(void **state _unused_)
{
	struct btf *wanted = make_wanted();
	struct btf *kernel = make_kernel();
	struct btf *copied = copy(kernel, wanted);

	assert_null(find(copied, "other", BTF_KIND_STRUCT));
	assert_null(find(copied, "absent", BTF_KIND_STRUCT));
	assert_null(find(copied, "task___old", BTF_KIND_STRUCT));
	assert_null(find(copied, "pid_t", BTF_KIND_TYPEDEF));
	btf__free(copied);
	btf__free(kernel);
	btf__free(wanted);
}

/* A struct in itself, which no compiler makes; and truncated and changed types. */
static void damaged_types_are_refused(void **state _unused_)
{
	struct btf *wanted = make_wanted();
	struct btf *kernel = make_kernel();
	struct btf *copied;
	uint32_t size;
	const void *types = btf__raw_data(kernel, &size);
	uint8_t *changed = malloc(size);

	for (uint32_t i = 0; i < size; i++) {
		memcpy(changed, types, size);
		assert_int_equal(kernel_types_copy(changed, i, wanted, &copied), -ENOTSUP);
		for (uint32_t value = 0; value < 256; value += 15) {
			changed[i] = (uint8_t)value;
			if (kernel_types_copy(changed, size, wanted, &copied) == 0)
				btf__free(copied);
		}
	}
	free(changed);
	btf__free(kernel);
	btf__free(wanted);

	wanted = make_wanted();
	kernel = btf__new_empty();
	add(btf__add_struct(kernel, "task", 8));
	add_field(kernel, "place", 1, 0, 0);
	types = btf__raw_data(kernel, &size);
	assert_int_equal(kernel_types_copy(types, size, wanted, &copied), -ENOTSUP);
	btf__free(kernel);
	btf__free(wanted);
}

/* ---- of this kernel ----------------------------------------------------------------------- */

/*
 * Programs that libbpf has relocated by all types, and by the copy. Where a map is loaded,
 * its descriptor differs.
 */
static void assert_same_code(struct bpf_object *by_all, struct bpf_object *by_copy)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, by_all)
	{
		struct bpf_program *other =
			bpf_object__find_program_by_name(by_copy, bpf_program__name(program));
		const struct bpf_insn *code = bpf_program__insns(program);
		const struct bpf_insn *its_code = bpf_program__insns(other);

		assert_int_equal(bpf_program__insn_cnt(program), bpf_program__insn_cnt(other));
		for (size_t i = 0; i < bpf_program__insn_cnt(program); i++)
			if (code[i].code != (BPF_LD | BPF_IMM | BPF_DW))
				assert_memory_equal(&code[i], &its_code[i], sizeof(*code));
	}
}

static void set_sizes(struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		if (!bpf_map__max_entries(map)) /* for each CPU */
			assert_int_equal(bpf_map__set_max_entries(map, 2), 0);
	}
}

static void programs_are_relocated_as_by_all_types(void **state _unused_)
{
	char path[32];
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = path);
	int fd = memfd_create("types", MFD_CLOEXEC);
	struct sampler_bpf *by_all;
	struct sampler_bpf *by_copy;

	assert_true(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	by_all = sampler_bpf__open();
	by_copy = sampler_bpf__open_opts(&opts);
	set_sizes(by_all->obj);
	set_sizes(by_copy->obj);
	/* Where nobody may load programs. */
	if (sampler_bpf__load(by_all)) {
		sampler_bpf__destroy(by_all);
		sampler_bpf__destroy(by_copy);
		close(fd);
		skip();
	}
	assert_int_equal(kernel_types_write(bpf_object__btf(by_copy->obj), fd), 0);
	assert_int_equal(sampler_bpf__load(by_copy), 0);
	assert_same_code(by_all->obj, by_copy->obj);
	sampler_bpf__destroy(by_all);
	sampler_bpf__destroy(by_copy);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wanted_types_have_their_wanted_members),
		cmocka_unit_test(enumerations_have_all_values),
		cmocka_unit_test(types_without_a_wanted_name_are_left_out),
		cmocka_unit_test(damaged_types_are_refused),
		cmocka_unit_test(programs_are_relocated_as_by_all_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
