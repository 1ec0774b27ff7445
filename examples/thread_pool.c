/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread pool: each job is a slice where it is queued and one where it runs, connected by a flow.
 *
 *	cc -o thread_pool thread_pool.c $(pkg-config --cflags --libs sonda) -pthread
 *	sonda record --app 'pool*' -- ./thread_pool
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>

#include <sonda/sonda.h>

SONDA_CATEGORY_DEFINE(pool, "pool", "Jobs of the thread pool");
SONDA_CATEGORY_DEFINE(queue, "pool.queue", "Length of its queue");

#define WORKERS 4
#define JOBS 40

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned queued, taken; /* jobs are their numbers, 1..JOBS */
static struct sonda_track length; /* of the queue */

static void run_job(unsigned job)
{
	volatile unsigned n = 0;

	/* The flow ends here; the UI draws an arrow from where the job was queued. */
	SONDA_SCOPE(pool, "job", SONDA_UINT("number", job), SONDA_FLOW_END(job));
	while (n < job * 10000)
		n++;
}

static void *worker(void *arg)
{
	char name[16];
	unsigned job;

	snprintf(name, sizeof(name), "worker %d", (int)(intptr_t)arg);
	prctl(PR_SET_NAME, name);
	do {
		pthread_mutex_lock(&lock);
		while (taken == queued && queued < JOBS)
			pthread_cond_wait(&changed, &lock);
		job = taken < queued ? ++taken : 0;
		SONDA_COUNTER(queue, &length, queued - taken);
		pthread_mutex_unlock(&lock);
		if (job)
			run_job(job);
	} while (job);
	return NULL;
}

static void queue_job(void)
{
	pthread_mutex_lock(&lock);
	queued++;
	SONDA_INSTANT(pool, "queue", SONDA_UINT("number", queued), SONDA_FLOW(queued));
	SONDA_COUNTER(queue, &length, queued - taken);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

int main(void)
{
	pthread_t workers[WORKERS];

	length = sonda_track_counter("queued jobs", NULL);
	length.unit = SONDA_UNIT_COUNT;
	sonda_init(NULL);
	/* Optional: what is written before the service answers is not recorded. */
	sonda_wait_connected(1000);
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, worker, (void *)(intptr_t)i);
	for (int i = 0; i < JOBS; i++)
		queue_job();
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	return 0;
}
