/* Two plugins loaded, run for 0.1 s and unloaded in turn, likely at one address: dlopens [SECONDS].
   They lie beside the program. */
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "spin.h"

static __attribute__((noinline)) int run_plugin(const char *folder, const char *file,
						const char *function)
{
	char path[PATH_MAX + 32];
	void (*burn)(void);
	void *plugin;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	plugin = dlopen(path, RTLD_NOW);
	if (!plugin)
		return -1;
	*(void **)&burn = dlsym(plugin, function);
	if (burn)
		burn();
	return dlclose(plugin);
}

int main(int argc, char **argv)
{
	uint64_t end_ns = read_cpu_ns() + read_duration_ns(argc, argv, 1, 1);
	char self[PATH_MAX] = "";

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	dirname(self);
	while (read_cpu_ns() < end_ns)
		if (run_plugin(self, "plugin_a.so", "plugin_a_burn") != 0 ||
		    run_plugin(self, "plugin_b.so", "plugin_b_burn") != 0)
			return 1;
	return 0;
}
