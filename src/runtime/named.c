#include "runtime/named.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/text.h"
#include "runtime/file_data.h"

/*
 * Debuggers and profilers ask for both symbols of .NET, in programs that have the runtime in them, too; .NET Core 3.1 does
 * not export the first one, and has what starts it. BEAM's are its entry point and what it offers to libraries in C, those of
 * the others part of their interface for programs that load them. LuaJIT has Lua's as well, and comes first.
 */
static const struct named_runtime runtimes[NUM_NAMED_RUNTIMES] = {
	{.name = ".NET",
	 .account_name = "dotnet",
	 .symbols = {"g_dacTable", "MetaDataGetDispenser"},
	 .older_symbol = "coreclr_initialize",
	 .advice = "DOTNET_PerfMapEnabled=1 in its environment"},
	{.name = "BEAM",
	 .account_name = "beam",
	 .symbols = {"erl_start", "enif_make_atom"},
	 .advice = "+JPperf true (erl), from OTP 24 on"},
	{.name = "LuaJIT",
	 .account_name = "luajit",
	 .symbols = {"luaJIT_setmode", "lua_newstate"},
	 .advice = "XCFLAGS=-DLUAJIT_USE_PERFTOOLS when it is built"},
	{.name = "Lua",
	 .account_name = "lua",
	 .symbols = {"lua_rawgeti", "lua_newstate"},
	 .is_library = true},
	{.name = "PyPy",
	 .account_name = "pypy",
	 .symbols = {"rpython_startup_code", "pypy_execute_source"}},
	{.name = "Mono",
	 .account_name = "mono",
	 .symbols = {"mono_jit_init_version", "mono_runtime_invoke"},
	 .advice = "--jitmap (mono)"},
	{.name = "R",
	 .account_name = "r",
	 .symbols = {"Rf_initEmbeddedR", "Rf_eval"},
	 .is_library = true},
	{.name = "Guile",
	 .account_name = "guile",
	 .symbols = {"scm_boot_guile", "scm_c_eval_string"},
	 .is_library = true},
	{.name = "Tcl",
	 .account_name = "tcl",
	 .symbols = {"Tcl_CreateInterp", "Tcl_EvalObjEx"},
	 .is_library = true},
	{.name = "JavaScriptCore",
	 .account_name = "jsc",
	 .symbols = {"JSContextGroupCreate", "JSEvaluateScript"},
	 .is_library = true},
	{.name = "SpiderMonkey",
	 .account_name = "spidermonkey",
	 .symbols = {"_Z11JS_ShutDownv", "_Z17JS_DestroyContextP9JSContext"},
	 .is_library = true},
};

const struct named_runtime *named_runtime_get(uint32_t number)
{
	return &runtimes[number];
}

/* What loads or calls a runtime has the name as well, and not the symbol. */
static bool defines(Elf *elf, const char *wanted)
{
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		Elf_Data *data;
		GElf_Shdr header;
		GElf_Sym symbol;

		if (!gelf_getshdr(scn, &header) ||
		    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
			const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);

			if (name && symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS &&
			    string_equals(name, wanted))
				return true;
		}
	}
	return false;
}

static bool has_symbol(Elf *elf, const char *name)
{
	return file_has_symbol_name(elf, name, strlen(name) + 1) && defines(elf, name);
}

static bool is_in(Elf *elf, const struct named_runtime *runtime)
{
	if (!has_symbol(elf, runtime->symbols[1]))
		return false;
	return has_symbol(elf, runtime->symbols[0]) ||
	       (runtime->older_symbol && has_symbol(elf, runtime->older_symbol));
}

int named_runtime_find(struct objfile *objfile, uint32_t *ret_number)
{
	Elf *elf = objfile_get_elf(objfile);

	for (uint32_t i = 0; i < NUM_NAMED_RUNTIMES; i++) {
		if (!is_in(elf, &runtimes[i]))
			continue;
		*ret_number = i;
		return 0;
	}
	return -ENOENT;
}
