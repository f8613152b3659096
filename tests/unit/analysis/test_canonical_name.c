#include <string.h>

#include "analysis/normalize.h"
#include "base/text.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

static void assert_common(const char *name, const char *expected)
{
	struct text text = {0};

	text_append_string(&text, "");
	canonical_name_append(&text, name, strlen(name));
	assert_string_equal(text.data, expected);
	text_release(&text);
}

static void lambdas_lose_their_numbers(void **state _unused_)
{
	assert_common("a.B$$Lambda$14.run", "a.B$$Lambda.run");
	assert_common("a.B$$Lambda$14/1234567.run", "a.B$$Lambda.run");
	assert_common("a.B$$Lambda$14/0x0000000800c03000.run", "a.B$$Lambda.run");
	assert_common("a/B$$Lambda+0x00007f1c3c0a1000.2045.run", "a/B$$Lambda.run");
	assert_common("a.B$$Lambda$14.0x00007eff.get$lambda$1", "a.B$$Lambda.get$lambda$1");
	assert_common("a.B$$Lambda", "a.B$$Lambda");
}

static void forms_of_method_handles_lose_their_addresses(void **state _unused_)
{
	assert_common("java.lang.invoke.LambdaForm$MH+0x00007f0012345678.invoke",
		      "java.lang.invoke.LambdaForm$MH.invoke");
	assert_common("java.lang.invoke.LambdaForm$DMH/0x0000000800c03000.invokeStatic",
		      "java.lang.invoke.LambdaForm$DMH.invokeStatic");
	assert_common("LambdaForm$MH.123.linkToTargetMethod", "LambdaForm$MH.linkToTargetMethod");
	assert_common("LambdaForm$Holder.invoke", "LambdaForm$Holder.invoke");
}

static void accessors_proxies_and_hidden_classes_lose_their_numbers(void **state _unused_)
{
	assert_common("jdk.internal.reflect.GeneratedMethodAccessor123.invoke",
		      "jdk.internal.reflect.GeneratedMethodAccessor.invoke");
	assert_common("jdk.proxy2.$Proxy12.get", "jdk.proxy.$Proxy.get");
	assert_common("a.B$$EnhancerBySpringCGLIB$$1f2e3d4c.get",
		      "a.B$$EnhancerBySpringCGLIB$$.get");
	assert_common("a.Hidden/0x0000000800c03000.run", "a.Hidden.run");
}

static void futexes_lose_their_addresses(void **state _unused_)
{
	assert_common("[futex 0x7f0012345678]", "[futex]");
	assert_common("[futex]", "[futex]");
}

static void tiers_are_no_part_of_a_name(void **state _unused_)
{
	assert_common("java/util/Map.get_[0]", "java/util/Map.get");
	assert_common("java/util/Map.get_[1]", "java/util/Map.get");
	assert_common("_[0]", "_[0]");
}

static void what_only_looks_like_it_stays(void **state _unused_)
{
	assert_common("libc.so.6+0x1a40abcdef", "libc.so.6+0x1a40abcdef");
	assert_common("a.b/0x12.c", "a.b/0x12.c");
	assert_common("/0x0000000800c03000", "/0x0000000800c03000");
	assert_common("queue_[2]", "queue_[2]");
	assert_common("f(int)", "f(int)");
	assert_common("", "");
	assert_common("/0", "/0");
	assert_common("$$Lambda$", "$$Lambda$");
	assert_common("LambdaForm$", "LambdaForm$");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lambdas_lose_their_numbers),
		cmocka_unit_test(forms_of_method_handles_lose_their_addresses),
		cmocka_unit_test(accessors_proxies_and_hidden_classes_lose_their_numbers),
		cmocka_unit_test(futexes_lose_their_addresses),
		cmocka_unit_test(tiers_are_no_part_of_a_name),
		cmocka_unit_test(what_only_looks_like_it_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
