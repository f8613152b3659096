/* The runtime that a file contains: one pass over the names of its symbols asks every row. */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "objfile/elf_symbols.h"
#include "runtime/file_data.h"
#include "runtime/finder.h"
#include "runtime/runtime.h"

/*
 * A runtime with several symbols that only its file has. Interpreters export them for debuggers and
 * extensions, named runtimes for debuggers or for libraries that they load. No other file has two
 * of them.
 */
static const struct runtime_symbols {
	const char *names[2]; /* a file with one of them is a candidate */
	runtime_finder *
		find; /* NULL: a named runtime; its file defines the first name, and one of these */
	const char *others[2]; /* the second one: in older versions; or NULL */
} rows[NUM_WIRE_RUNTIMES] = {
	[WIRE_RUNTIME_PYTHON] = {.names = {"_PyRuntime", "PyEval_EvalFrameEx"},
				 .find = python_find},
	[WIRE_RUNTIME_V8] = {.names = {"v8dbg_class_JSFunction__shared__SharedFunctionInfo"},
			     .find = v8_find},
	[WIRE_RUNTIME_HOTSPOT] = {.names = {"gHotSpotVMStructs"}, .find = hotspot_find},
	[WIRE_RUNTIME_PHP] = {.names = {"execute_ex"}, .find = php_find},
	[WIRE_RUNTIME_RUBY] = {.names = {"ruby_version"}, .find = ruby_find},
	[WIRE_RUNTIME_PERL] = {.names = {"Perl_runops_standard"}, .find = perl_find},
	/*
	 * Debuggers and profilers ask for both, also in programs that contain the runtime; .NET
	 * Core 3.1 has its starter.
	 */
	[WIRE_RUNTIME_DOTNET] = {.names = {"MetaDataGetDispenser"},
				 .others = {"g_dacTable", "coreclr_initialize"}},
	/* Its entry point, and an interface for libraries in C. */
	[WIRE_RUNTIME_BEAM] = {.names = {"enif_make_atom"}, .others = {"erl_start"}},
	[WIRE_RUNTIME_LUAJIT] = {.names = {"lua_newstate"}, .others = {"luaJIT_setmode"}},
	[WIRE_RUNTIME_LUA] = {.names = {"lua_newstate"}, .others = {"lua_rawgeti"}},
	[WIRE_RUNTIME_PYPY] = {.names = {"pypy_execute_source"},
			       .others = {"rpython_startup_code"}},
	[WIRE_RUNTIME_MONO] = {.names = {"mono_runtime_invoke"},
			       .others = {"mono_jit_init_version"}},
	[WIRE_RUNTIME_R] = {.names = {"Rf_eval"}, .others = {"Rf_initEmbeddedR"}},
	[WIRE_RUNTIME_GUILE] = {.names = {"scm_c_eval_string"}, .others = {"scm_boot_guile"}},
	[WIRE_RUNTIME_TCL] = {.names = {"Tcl_EvalObjEx"}, .others = {"Tcl_CreateInterp"}},
	[WIRE_RUNTIME_JAVASCRIPTCORE] = {.names = {"JSEvaluateScript"},
					 .others = {"JSContextGroupCreate"}},
	[WIRE_RUNTIME_SPIDERMONKEY] = {.names = {"_Z17JS_DestroyContextP9JSContext"},
				       .others = {"_Z11JS_ShutDownv"}},
};

/* Runtimes with a symbol of their row in the file. */
struct candidates {
	bool is_one[NUM_WIRE_RUNTIMES];
};

/* Most of a hundred thousand names differ in the first letters: no call for these. */
static inline bool is_name(const char *name, const char *wanted)
{
	return wanted && name[0] == wanted[0] && name[1] == wanted[1] && name[2] == wanted[2] &&
	       string_equals(name, wanted);
}

static int visit_symbol(void *context, const char *name, const GElf_Sym *symbol _unused_)
{
	struct candidates *candidates = context;

	for (size_t i = 0; i < NUM_WIRE_RUNTIMES; i++)
		if (is_name(name, rows[i].names[0]) || is_name(name, rows[i].names[1]))
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
