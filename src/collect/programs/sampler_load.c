#include "collect/programs/sampler_load.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct sampler_load {
	struct sampler_opts opts;
	pthread_t thread;
	bool has_thread;
	struct sampler *sampler; /* NULL: not loaded, or the caller has it */
	int result;
	struct error error;
};

static void *run(void *context)
{
	struct sampler_load *load = context;

	load->result = sampler_new(&load->opts, &load->sampler, &load->error);
	return NULL;
}

int sampler_load_start(const struct sampler_opts *opts, struct sampler_load **ret)
{
	struct sampler_load *load = calloc(1, sizeof(*load));
	sigset_t all;
	sigset_t before;

	if (!load)
		return -ENOMEM;
	load->opts = *opts;
	/* Signals are handled by other threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	load->has_thread = !pthread_create(&load->thread, NULL, run, load);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	*ret = load;
	return 0;
}

static void join(struct sampler_load *load)
{
	if (load->has_thread)
		pthread_join(load->thread, NULL);
	load->has_thread = false;
}

int sampler_load_finish(struct sampler_load *load, struct sampler **ret, struct error *error)
{
	if (load->has_thread)
		join(load);
	else
		run(load);
	if (load->result) {
		if (error)
			*error = load->error;
		return load->result;
	}
	*ret = load->sampler;
	load->sampler = NULL;
	return 0;
}

void sampler_load_free(struct sampler_load *load)
{
	if (!load)
		return;
	join(load);
	sampler_free(load->sampler);
	free(load);
}
