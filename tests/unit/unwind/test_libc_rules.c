/*
 * The rules of the functions of this machine's libc that find their caller in an unusual way.
 */
#include "unit.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include "unwind/unwind_table.h"

struct libc {
	void *handle; /* sanitizers have functions of the same names */
	struct objfile *objfile;
	struct unwind_table *table;
	uint64_t bias; /* address in this process minus ELF address */
};

static int open_libc(void **state)
{
	struct libc *libc = calloc(1, sizeof(*libc));
	struct link_map *map;
	int fd;

	assert_non_null(libc);
	libc->handle = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	assert_non_null(libc->handle);
	assert_int_equal(dlinfo(libc->handle, RTLD_DI_LINKMAP, &map), 0);
	fd = open(map->l_name, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(objfile_open(fd, map->l_name, NULL, &libc->objfile, NULL), 0);
	close(fd);
	assert_int_equal(unwind_table_new(libc->objfile, &libc->table, NULL), 0);
	libc->bias = map->l_addr;
	*state = libc;
	return 0;
}

static int close_libc(void **state)
{
	struct libc *libc = *state;

	unwind_table_free(libc->table);
	objfile_unref(libc->objfile);
	dlclose(libc->handle);
	free(libc);
	return 0;
}

/* The rule at so many bytes behind the start of a function. */
static struct unwind_rule find(const struct libc *libc, const char *name, uint64_t offset)
{
	uint64_t address = (uint64_t)(uintptr_t)dlsym(libc->handle, name);
	struct unwind_rule rule;

	assert_true(address != 0);
	assert_int_equal(unwind_table_find(libc->table, address - libc->bias + offset, &rule), 0);
	return rule;
}

/* pop %rdi; mov $58, %eax; syscall; push %rdi: the child would overwrite it on the stack. */
static void vfork_keeps_its_return_address_in_rdi(void **state)
{
	static const uint8_t code[] = {0x5f, 0xb8, 0x3a, 0, 0, 0, 0x0f, 0x05, 0x57};
	const struct libc *libc = *state;
	const uint8_t *vfork_code = dlsym(libc->handle, "vfork");
	uint64_t start = 0;
	struct unwind_rule rule;

	if (memcmp(vfork_code, "\xf3\x0f\x1e\xfa", 4) == 0) /* endbr64 */
		start = 4;
	if (memcmp(vfork_code + start, code, sizeof(code)))
		skip(); /* another libc */
	rule = find(libc, "vfork", start);
	assert_int_equal(rule.cfa_op, UNWIND_CFA_SP);
	assert_int_equal(rule.cfa_offset, 8);
	assert_int_equal(rule.ra_op, UNWIND_RA_AT_CFA);
	for (uint64_t offset = start + 1; offset < start + sizeof(code); offset++) {
		rule = find(libc, "vfork", offset);
		assert_int_equal(rule.cfa_op, UNWIND_CFA_SP);
		assert_int_equal(rule.cfa_offset, 0);
		assert_int_equal(rule.ra_op, UNWIND_RA_IN_DI);
	}
	/* It is on the stack again, and in rdi still. */
	rule = find(libc, "vfork", start + sizeof(code));
	assert_int_equal(rule.cfa_op, UNWIND_CFA_SP);
	assert_int_equal(rule.cfa_offset, 8);
}

/* A thread's first function returns to behind clone's system call, where nothing is below. */
static void the_child_of_clone_starts_in_an_outermost_frame(void **state)
{
	const struct libc *libc = *state;
	unsigned int num_outermost = 0;

	for (uint64_t offset = 0; offset < 64; offset++)
		num_outermost += find(libc, "clone", offset).cfa_op == UNWIND_CFA_STOP;
	assert_true(num_outermost > 0);
	assert_int_not_equal(find(libc, "clone", 0).cfa_op, UNWIND_CFA_STOP);
}

/* syscall; test %rax,%rax; jl …; je 1 byte on; ret: only rax says whether it is a new thread or who has made it. */
static void behind_the_call_of_clone_it_depends_on_its_result(void **state)
{
	static const uint8_t syscall_test_rax[] = {0x0f, 0x05, 0x48, 0x85, 0xc0};
	static const uint8_t je_ret[] = {0x74, 0x01, 0xc3};
	const struct libc *libc = *state;
	const uint8_t *code = dlsym(libc->handle, "clone");
	const uint8_t *call = memmem(code, 64, syscall_test_rax, sizeof(syscall_test_rax));
	const uint8_t *ret = call ? memmem(call, 16, je_ret, sizeof(je_ret)) : NULL;

	if (!ret)
		skip(); /* another libc */
	for (const uint8_t *byte = call; byte < ret + sizeof(je_ret); byte++) {
		struct unwind_rule rule = find(libc, "clone", (uint64_t)(byte - code));

		assert_int_equal(rule.cfa_op, UNWIND_CFA_CLONE);
		assert_int_equal(rule.cfa_offset, 8);
	}
	assert_int_equal(find(libc, "clone", (uint64_t)(call - code) - 1).cfa_op, UNWIND_CFA_SP);
	assert_int_equal(find(libc, "clone", (uint64_t)(ret - code) + sizeof(je_ret)).cfa_op,
			 UNWIND_CFA_STOP);
}

/* Between `mov 0xa0(%rdx),%rsp` and the push, all is in the ucontext. */
static void swapcontext_is_on_no_stack_for_a_while(void **state)
{
	static const uint8_t load_rsp[] = {0x48, 0x8b, 0xa2, 0xa0, 0, 0, 0};
	const struct libc *libc = *state;
	const uint8_t *code = dlsym(libc->handle, "swapcontext");
	const uint8_t *load = memmem(code, 256, load_rsp, sizeof(load_rsp));

	if (!load)
		skip(); /* another libc */
	assert_int_equal(find(libc, "swapcontext", (uint64_t)(load - code)).cfa_op, UNWIND_CFA_SP);
	assert_int_equal(
		find(libc, "swapcontext", (uint64_t)(load - code) + sizeof(load_rsp)).cfa_op,
		UNWIND_CFA_CONTEXT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(vfork_keeps_its_return_address_in_rdi, open_libc,
						close_libc),
		cmocka_unit_test_setup_teardown(the_child_of_clone_starts_in_an_outermost_frame,
						open_libc, close_libc),
		cmocka_unit_test_setup_teardown(behind_the_call_of_clone_it_depends_on_its_result,
						open_libc, close_libc),
		cmocka_unit_test_setup_teardown(swapcontext_is_on_no_stack_for_a_while, open_libc,
						close_libc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
