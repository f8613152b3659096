/* The runtime that a file contains: one pass over the names of its symbols asks every row. */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "objfile/elf_symbols.h"
#include "runtime/file_data.h"
#include "runtime/finder.h"
#include "runtime/runtime.h"

/*
 * A runtime with several symbols that only its file has. Those of interpreters are exported for debuggers and extensions; those
 * of named runtimes for debuggers or for the libraries that they load, and no other file has two of them.
 */
static const struct runtime_symbols {
	const char *names[2]; /* a file with one of them is looked into */
	runtime_finder *
		find; /* NULL: a named runtime; its file defines the first name, and one of these */
	const char *others[2]; /* the second one: in older versions; or NULL */
} rows[NUM_WIRE_RUNTIMES] = {
	[WIRE_RUNTIME_PYTHON] = {{"_PyRuntime", "PyEval_EvalFrameEx"}, python_find},
	[WIRE_RUNTIME_V8] = {{"v8dbg_class_JSFunction__shared__SharedFunctionInfo"}, v8_find},
	[WIRE_RUNTIME_HOTSPOT] = {{"gHotSpotVMStructs"}, hotspot_find},
	[WIRE_RUNTIME_PHP] = {{"execute_ex"}, php_find},
	[WIRE_RUNTIME_RUBY] = {{"ruby_version"}, ruby_find},
	[WIRE_RUNTIME_PERL] = {{"Perl_runops_standard"}, perl_find},
	/* Debuggers and profilers ask for both, also in programs that contain the runtime; .NET Core 3.1 has what starts it. */
	[WIRE_RUNTIME_DOTNET] = {{"MetaDataGetDispenser"},
				 NULL,
				 {"g_dacTable", "coreclr_initialize"}},
	/* Its entry point, and an interface for libraries in C. */
	[WIRE_RUNTIME_BEAM] = {{"enif_make_atom"}, NULL, {"erl_start"}},
	[WIRE_RUNTIME_LUAJIT] = {{"lua_newstate"}, NULL, {"luaJIT_setmode"}},
	[WIRE_RUNTIME_LUA] = {{"lua_newstate"}, NULL, {"lua_rawgeti"}},
	[WIRE_RUNTIME_PYPY] = {{"pypy_execute_source"}, NULL, {"rpython_startup_code"}},
	[WIRE_RUNTIME_MONO] = {{"mono_runtime_invoke"}, NULL, {"mono_jit_init_version"}},
	[WIRE_RUNTIME_R] = {{"Rf_eval"}, NULL, {"Rf_initEmbeddedR"}},
	[WIRE_RUNTIME_GUILE] = {{"scm_c_eval_string"}, NULL, {"scm_boot_guile"}},
	[WIRE_RUNTIME_TCL] = {{"Tcl_EvalObjEx"}, NULL, {"Tcl_CreateInterp"}},
	[WIRE_RUNTIME_JAVASCRIPTCORE] = {{"JSEvaluateScript"}, NULL, {"JSContextGroupCreate"}},
	[WIRE_RUNTIME_SPIDERMONKEY] = {{"_Z17JS_DestroyContextP9JSContext"},
				       NULL,
				       {"_Z11JS_ShutDownv"}},
};

/* By runtime: a symbol of its row was seen. */
struct candidates {
	bool is_one[NUM_WIRE_RUNTIMES];
};

static int visit_symbol(void *context, const char *name, const GElf_Sym *symbol _unused_)
{
	struct candidates *candidates = context;

	for (size_t i = 0; i < NUM_WIRE_RUNTIMES; i++)
		if (string_equals(name, rows[i].names[0]) ||
		    (rows[i].names[1] && string_equals(name, rows[i].names[1])))
			candidates->is_one[i] = true;
	return 0;
}

static int find_by_name(const struct objfile *objfile, const struct runtime_symbols *row,
			struct runtime_build *build)
{
	const char *names[] = {row->names[0], row->others[0],
			       row->others[1] ? row->others[1] : row->others[0]};
	struct file_symbol symbols[ARRAY_LENGTH(names)];

	file_find_symbols(objfile, names, ARRAY_LENGTH(names), symbols);
	build->support = SUPPORT_NAME_ONLY;
	return symbols[0].is_there && (symbols[1].is_there || symbols[2].is_there) ? 0 : -ENOENT;
}

int runtime_find(struct objfile *objfile, struct runtime_build *ret)
{
	struct candidates candidates = {0};

	(void)!objfile_for_each_exported_symbol(objfile_get_elf(objfile), visit_symbol,
						&candidates);
	for (enum wire_runtime runtime = 0; runtime < NUM_WIRE_RUNTIMES; runtime++) {
		const struct runtime_symbols *row = &rows[runtime];
		struct runtime_build build = {.runtime = runtime};

		if (!candidates.is_one[runtime] ||
		    (row->find ? row->find(objfile, &build) : find_by_name(objfile, row, &build)))
			continue;
		if (build.support == SUPPORT_KNOWN)
			build.layout.runtime = runtime;
		*ret = build;
		return 0;
	}
	return -ENOENT;
}
