/*
 * Runtimes that are known by name alone, in files that are written here.
 */
#include "runtime/runtime.h"

#include <errno.h>

#include "hotspot_file.h"

/* As runtime_find(). */
static int find(const struct hotspot_file *file, struct runtime_build *ret)
{
	int fd = hotspot_file_open(file);
	struct objfile *objfile;
	int err;

	assert_int_equal(objfile_open(fd, "file", NULL, &objfile, NULL), 0);
	close(fd);
	err = runtime_find(objfile, ret);
	objfile_unref(objfile);
	return err;
}

static void check(const char *first, const char *second, const char *name)
{
	struct hotspot_file file = {
		.symbols = {{"malloc", 0, SHN_UNDEF}, {second, 0x20010, 1}, {first, 0x20018, 1}}};
	struct runtime_build build;

	assert_int_equal(find(&file, &build), 0);
	assert_string_equal(runtime_get(build.runtime)->name, name);
	assert_int_equal(build.support, SUPPORT_NAME_ONLY);
	assert_true(runtime_is_named(build.runtime));
}

static void a_runtime_is_known_by_two_symbols(_unused_ void **state)
{
	check("g_dacTable", "MetaDataGetDispenser", ".NET");
	check("coreclr_initialize", "MetaDataGetDispenser", ".NET"); /* Core 3.1 */
	check("erl_start", "enif_make_atom", "BEAM");
	check("luaJIT_setmode", "lua_newstate", "LuaJIT");
	check("lua_rawgeti", "lua_newstate", "Lua");
	check("rpython_startup_code", "pypy_execute_source", "PyPy");
	check("mono_jit_init_version", "mono_runtime_invoke", "Mono");
	check("Rf_initEmbeddedR", "Rf_eval", "R");
	check("scm_boot_guile", "scm_c_eval_string", "Guile");
	check("Tcl_CreateInterp", "Tcl_EvalObjEx", "Tcl");
	check("JSContextGroupCreate", "JSEvaluateScript", "JavaScriptCore");
	check("_Z11JS_ShutDownv", "_Z17JS_DestroyContextP9JSContext", "SpiderMonkey");
}

static void lua_is_none_where_it_is_compiled(_unused_ void **state)
{
	struct hotspot_file file = {.symbols = {{"lua_newstate", 0x20010, 1},
						{"lua_rawgeti", 0x20018, 1},
						{"luaJIT_setmode", 0x20020, 1}}};
	struct runtime_build build;

	assert_int_equal(find(&file, &build), 0);
	assert_string_equal(runtime_get(build.runtime)->name, "LuaJIT");
}

static void a_program_without_dynamic_symbols_has_others(_unused_ void **state)
{
	struct hotspot_file file = {
		.symbols = {{"luaJIT_setmode", 0x20010, 1}, {"lua_newstate", 0x20018, 1}},
		.symbols_type = SHT_SYMTAB};
	struct runtime_build build;

	assert_int_equal(find(&file, &build), 0);
	assert_string_equal(runtime_get(build.runtime)->name, "LuaJIT");
}

/* A part of Lua, a library for BEAM, and a server that calls LuaJIT in a library. */
static void what_only_has_to_do_with_a_runtime_is_none(_unused_ void **state)
{
	static const struct hotspot_file files[] = {
		{.symbols = {{"lua_newstate", 0x20010, 1}}},
		{.symbols = {{"enif_make_atom", 0, SHN_UNDEF}, {"nif_init", 0x20010, 1}}},
		{.symbols = {{"luaJIT_setmode", 0, SHN_UNDEF}, {"lua_newstate", 0, SHN_UNDEF}}},
		{.symbols = {{"luaJIT_setmode", 0x20010, 1}, {"lua_newstate", 0, SHN_UNDEF}}},
		{.symbols = {{"g_dacTable2", 0x20010, 1}, {"MetaDataGetDispenser", 0x20018, 1}}},
		{.symbols = {{"coreclr_initialize", 0x20010, 1},
			     {"GetCLRRuntimeHost", 0x20018, 1}}},
		{.symbols = {{"erl_start", 0x20010, 1}, {"luaJIT_setmode", 0x20018, 1}}},
		{.symbols = {{NULL, 0, 0}}},
	};
	struct runtime_build build;

	for (size_t i = 0; i < ARRAY_LENGTH(files); i++)
		assert_int_equal(find(&files[i], &build), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_runtime_is_known_by_two_symbols),
		cmocka_unit_test(lua_is_none_where_it_is_compiled),
		cmocka_unit_test(a_program_without_dynamic_symbols_has_others),
		cmocka_unit_test(what_only_has_to_do_with_a_runtime_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
