#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "objfile/demangle.h"

struct expectation {
	const char *symbol;
	const char *name;
	const char *full_name;
};

static void assert_names(const struct expectation *expectations, size_t num_expectations)
{
	struct demangler *demangler = demangler_new();

	assert_non_null(demangler);
	for (size_t i = 0; i < num_expectations; i++) {
		struct demangled_name demangled;

		assert_int_equal(demangler_get(demangler, expectations[i].symbol, &demangled), 0);
		assert_string_equal(demangled.name, expectations[i].name);
		assert_string_equal(demangled.full_name, expectations[i].full_name);
	}
	demangler_free(demangler);
}

static void cxx_names_lose_their_parameters_in_the_short_form(void **state)
{
	static const struct expectation expectations[] = {
		{"_ZN5outer5innerEi", "outer::inner", "outer::inner(int)"},
		{"_ZNK3vec4sizeEv", "vec::size", "vec::size() const"},
		{"_Z3maxIiET_S0_S0_", "max<int>", "int max<int>(int, int)"},
		{"_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()",
		 "main::{lambda()#1}::operator()() const"},
	};

	(void)state;
	assert_names(expectations, ARRAY_LENGTH(expectations));
}

static void rust_names_of_both_schemes_are_read(void **state)
{
	static const struct expectation expectations[] = {
		{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt",
		 "core::fmt::Write::write_fmt"},
		{"_RNvCs1234_7mycrate3foo", "mycrate::foo", "mycrate::foo"},
	};

	(void)state;
	assert_names(expectations, ARRAY_LENGTH(expectations));
}

static void clone_suffixes_stay_in_the_full_name_only(void **state)
{
	static const struct expectation expectations[] = {
		{"check.cold", "check", "check.cold"},
		{"sum.part.0.constprop.12", "sum", "sum.part.0.constprop.12"},
		{"sum.isra.0.cold", "sum", "sum.isra.0.cold"},
		{"read.llvm.1234567890123", "read", "read.llvm.1234567890123"},
		{"x.lto_priv.0", "x", "x.lto_priv.0"},
		{"_Z3foov.cold", "foo", "foo() [clone .cold]"},
	};

	(void)state;
	assert_names(expectations, ARRAY_LENGTH(expectations));
}

static void other_dots_and_numbers_belong_to_the_name(void **state)
{
	static const struct expectation expectations[] = {
		{"main.func1", "main.func1", "main.func1"},
		{"main.(*T).Run.func2.1", "main.(*T).Run.func2.1", "main.(*T).Run.func2.1"},
		{"work._omp_fn.0", "work._omp_fn.0", "work._omp_fn.0"},
		{".cold", ".cold", ".cold"},
		{"", "", ""},
		{"0", "0", "0"},
		{"part.7x", "part.7x", "part.7x"},
	};

	(void)state;
	assert_names(expectations, ARRAY_LENGTH(expectations));
}

static void symbol_versions_are_stripped_from_the_short_name(void **state)
{
	static const struct expectation expectations[] = {
		{"memcpy@@GLIBC_2.14", "memcpy", "memcpy@@GLIBC_2.14"},
		{"_ZNSt6localeD1Ev@@GLIBCXX_3.4", "std::locale::~locale", "std::locale::~locale()"},
	};

	(void)state;
	assert_names(expectations, ARRAY_LENGTH(expectations));
}

static void stubs_are_named_after_their_function(void **state)
{
	static const struct expectation expectations[] = {
		{"abs@plt", "abs@plt", "abs@plt"},
		{"_ZN5outer5innerEi@plt", "outer::inner@plt", "outer::inner(int)@plt"},
		{"*ABS*+0x9f550@plt", "*ABS*+0x9f550@plt", "*ABS*+0x9f550@plt"},
	};

	(void)state;
	assert_names(expectations, ARRAY_LENGTH(expectations));
}

static void the_calling_convention_of_go_is_not_part_of_a_name(void **state)
{
	static const struct expectation expectations[] = {
		{"runtime.goexit.abi0", "runtime.goexit", "runtime.goexit"},
		{"runtime.memmove.abiinternal", "runtime.memmove", "runtime.memmove"},
		{"main.(*abi0).run", "main.(*abi0).run", "main.(*abi0).run"},
		{".abi0", ".abi0", ".abi0"},
	};

	(void)state;
	assert_names(expectations, ARRAY_LENGTH(expectations));
}

static void one_symbol_is_demangled_without_what_it_returns(void **state _unused_)
{
	static const struct expectation expectations[] = {
		{"_ZN4shop5scaleIiLi7EEET_S1_", "shop::scale<int, 7>", "shop::scale<int, 7>(int)"},
		{"_Z3fooi.part.0.cold", "foo", "foo(int)"},
		{"_ZNSt6localeD1Ev@@GLIBCXX_3.4", "std::locale::~locale", "std::locale::~locale()"},
		{"memcpy@@GLIBC_2.14", "memcpy", "memcpy"},
		{"_Z", "_Z", "_Z"},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(expectations); i++) {
		_cleanup_free_ char *name = demangle_symbol(expectations[i].symbol, false);
		_cleanup_free_ char *full_name = demangle_symbol(expectations[i].symbol, true);

		assert_string_equal(name, expectations[i].name);
		assert_string_equal(full_name, expectations[i].full_name);
	}
}

static void clones_and_cold_parts_are_known_by_their_suffix(void **state _unused_)
{
	assert_true(symbol_is_clone("_Z3fooi.part.0"));
	assert_true(symbol_is_clone("foo.constprop.0.cold"));
	assert_true(symbol_is_clone("foo.isra.0"));
	assert_false(symbol_is_clone("foo"));
	assert_false(symbol_is_clone("part.7x"));
	assert_false(symbol_is_clone("foo.llvm.123"));
	assert_false(symbol_is_clone("foo.lto_priv.0"));
	assert_true(symbol_is_cold_part("foo.constprop.0.cold"));
	assert_true(symbol_is_cold_part("_Z3fooi.cold"));
	assert_false(symbol_is_cold_part("foo.part.0"));
	assert_false(symbol_is_cold_part(".cold"));
}

static void broken_names_stay_as_they_are(void **state)
{
	static const struct expectation expectations[] = {
		{"_Z", "_Z", "_Z"},
		{"_ZN99999foo", "_ZN99999foo", "_ZN99999foo"},
		{"_R", "_R", "_R"},
	};

	(void)state;
	assert_names(expectations, ARRAY_LENGTH(expectations));
}

/* A<int,int>, B<A,A>, C<B,B>, …: every level doubles the length. */
static void a_name_that_unfolds_without_end_is_truncated(void **state)
{
	struct text symbol = {0};
	struct demangler *demangler = demangler_new();
	struct demangled_name demangled;

	(void)state;
	text_append_string(&symbol, "_Z1fI1AIiiE");
	for (int level = 0; level < 40; level++) {
		char id[8] = "S_";

		if (level > 0)
			snprintf(id, sizeof(id), "S%c_",
				 level * 2 - 1 < 10 ? '0' + level * 2 - 1
						    : 'A' + (level * 2 - 11) % 26);
		text_printf(&symbol, "1BI%s%sE", id, id);
	}
	text_append_string(&symbol, "Evv");
	assert_int_equal(demangler_get(demangler, symbol.data, &demangled), 0);
	assert_true(strlen(demangled.name) <= DEMANGLED_MAX_BYTES + 3);
	assert_true(strlen(demangled.full_name) <= DEMANGLED_MAX_BYTES + 3);
	demangler_free(demangler);
	text_release(&symbol);
}

/* The binder is in the path of an instantiating crate, which the name does not show. */
static void lifetimes_without_end_leave_the_symbol_as_it_is(void **state)
{
	static const struct expectation expectations[] = {
		{"_RNvC7mRNvCs12olYYYYYYYbYFFFFFGFFFFFFFF_ZooYYbYYYYYo",
		 "_RNvC7mRNvCs12olYYYYYYYbYFFFFFGFFFFFFFF_ZooYYbYYYYYo",
		 "_RNvC7mRNvCs12olYYYYYYYbYFFFFFGFFFFFFFF_ZooYYbYYYYYo"},
		{"_RINvC1c1fDGZZZZZZZZZZZZZZZZ_EL_E", "_RINvC1c1fDGZZZZZZZZZZZZZZZZ_EL_E",
		 "_RINvC1c1fDGZZZZZZZZZZZZZZZZ_EL_E"},
		{"_RINvC1c1fFG0_RL1_hRL0_tEuE", "c::f::<for<'a, 'b> fn(&'a u8, &'b u16)>",
		 "c::f::<for<'a, 'b> fn(&'a u8, &'b u16)>"},
		/* an identifier that looks like a binder of 144,000 */
		{"_RNvC1c7DGRAM_x", "_RNvC1c7DGRAM_x", "_RNvC1c7DGRAM_x"},
		{"_RNvC1c4DG_x", "c::DG_x", "c::DG_x"},
	};

	(void)state;
	assert_names(expectations, ARRAY_LENGTH(expectations));
}

static void the_same_name_is_demangled_once(void **state)
{
	struct demangler *demangler = demangler_new();
	struct demangled_name first;
	struct demangled_name second;

	(void)state;
	assert_int_equal(demangler_get(demangler, "_Z3foov", &first), 0);
	assert_int_equal(demangler_get(demangler, "_Z3foov", &second), 0);
	assert_ptr_equal(first.name, second.name);
	demangler_free(demangler);
}

static void of_a_symbol_without_end_the_start_is_the_name(void **state)
{
	struct demangler *demangler = demangler_new();
	const size_t length = 1 << 20;
	char *symbol = calloc(length + 1, 1);
	struct demangled_name first;
	struct demangled_name second;

	(void)state;
	assert_non_null(symbol);
	memset(symbol, 'a', length);
	assert_int_equal(demangler_get(demangler, symbol, &first), 0);
	assert_int_equal(strlen(first.name), 64 << 10);
	assert_int_equal(strlen(first.full_name), 64 << 10);
	symbol[length - 1] = 'b';
	assert_int_equal(demangler_get(demangler, symbol, &second), 0);
	assert_ptr_equal(first.name, second.name);
	symbol[64 << 10] = '\0';
	symbol[0] = 'c';
	assert_int_equal(demangler_get(demangler, symbol, &second), 0);
	assert_string_equal(second.name, symbol);
	free(symbol);
	demangler_free(demangler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cxx_names_lose_their_parameters_in_the_short_form),
		cmocka_unit_test(rust_names_of_both_schemes_are_read),
		cmocka_unit_test(clone_suffixes_stay_in_the_full_name_only),
		cmocka_unit_test(other_dots_and_numbers_belong_to_the_name),
		cmocka_unit_test(symbol_versions_are_stripped_from_the_short_name),
		cmocka_unit_test(stubs_are_named_after_their_function),
		cmocka_unit_test(the_calling_convention_of_go_is_not_part_of_a_name),
		cmocka_unit_test(one_symbol_is_demangled_without_what_it_returns),
		cmocka_unit_test(clones_and_cold_parts_are_known_by_their_suffix),
		cmocka_unit_test(broken_names_stay_as_they_are),
		cmocka_unit_test(a_name_that_unfolds_without_end_is_truncated),
		cmocka_unit_test(lifetimes_without_end_leave_the_symbol_as_it_is),
		cmocka_unit_test(of_a_symbol_without_end_the_start_is_the_name),
		cmocka_unit_test(the_same_name_is_demangled_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
