/*
 * Example of zones: workers take jobs from a queue and tell what they do.
 *
 * usage: zones_threads [JOBS]      with STACKWIDE_ZONES=FILE in the environment
 *
 * Flows lead from where a job is put into the queue to where it is done; a counter shows how many
 * wait. What went in is printed, for a test to compare: jobs, zones.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stackwide/zones.h>

#define NUM_WORKERS 3

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int num_added;
	unsigned int num_taken;
	unsigned int num_jobs;
};

static void compute(unsigned int rounds)
{
	STACKWIDE_ZONE_FUNCTION();
	volatile unsigned int sink = 0;

	for (unsigned int i = 0; i < rounds; i++)
		sink = sink + i * i;
}

static void do_job(unsigned int job)
{
	STACKWIDE_ZONE_AS(zone, "job");

	stackwide_zone_integer(&zone, "number", job);
	stackwide_zone_category(&zone, job % 2 ? "odd" : "even");
	stackwide_zone_last_flow(&zone, job + 1);
	if (job % 10 == 0)
		stackwide_zone_rename(&zone, "big job");
	compute(job % 10 == 0 ? 50000 : 2000);
}

/* The number of a job, or -1 when there will be no more. */
static long take_job(struct queue *queue)
{
	long job = -1;

	pthread_mutex_lock(&queue->lock);
	while (queue->num_taken == queue->num_added && queue->num_added < queue->num_jobs)
		pthread_cond_wait(&queue->changed, &queue->lock);
	if (queue->num_taken < queue->num_added)
		job = queue->num_taken++;
	pthread_mutex_unlock(&queue->lock);
	return job;
}

static void *work(void *argument)
{
	struct queue *queue = argument;
	long job;

	while ((job = take_job(queue)) >= 0)
		do_job((unsigned int)job);
	return NULL;
}

static void add_job(struct queue *queue)
{
	STACKWIDE_ZONE_AS(zone, "add");

	pthread_mutex_lock(&queue->lock);
	stackwide_zone_flow(&zone, queue->num_added + 1);
	queue->num_added++;
	STACKWIDE_COUNTER("waiting jobs", queue->num_added - queue->num_taken);
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

static void *run_worker(void *argument)
{
	stackwide_zones_name_thread("worker");
	return work(argument);
}

int main(int argc, char **argv)
{
	struct queue queue = {.lock = PTHREAD_MUTEX_INITIALIZER,
			      .changed = PTHREAD_COND_INITIALIZER,
			      .num_jobs =
				      argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : 100};
	pthread_t workers[NUM_WORKERS];

	stackwide_zones_name_thread("producer");
	for (int i = 0; i < NUM_WORKERS; i++)
		if (pthread_create(&workers[i], NULL, run_worker, &queue))
			return 1;
	for (unsigned int i = 0; i < queue.num_jobs; i++)
		add_job(&queue);
	for (int i = 0; i < NUM_WORKERS; i++)
		pthread_join(workers[i], NULL);
	printf("%u jobs, %u zones\n", queue.num_jobs, 3 * queue.num_jobs);
	return 0;
}
