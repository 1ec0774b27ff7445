/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: diff_index FILE [slow|lock|fsync]
 *
 * A second program for diff.sh, on which no limit of sonda diff was tuned: one thread makes documents and passes them on in a
 * bounded queue; three threads split each one into words, weigh the words, and sort them. Each document is a line of FILE, and
 * after every 48th one the file is synced. A word plants one change:
 *
 *	slow	weigh_words() works 5 % longer
 *	lock	the threads sort under one mutex
 *	fsync	a second fsync(2), behind one more line
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORKERS 3
#define DOCUMENTS 960
#define DOCUMENTS_A_SYNC 48
#define QUEUE 8
#define TEXT_SIZE 16384
#define WEIGH_ROUNDS 60

struct document {
	char text[TEXT_SIZE];
	uint32_t words[TEXT_SIZE / 2];
	size_t n_words;
};

static struct document *queue[QUEUE];
static size_t queue_first, queue_length;
static bool queue_ended;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_changed = PTHREAD_COND_INITIALIZER;

static unsigned weigh_rounds = WEIGH_ROUNDS;
static bool has_sort_lock, has_second_sync;
static pthread_mutex_t sort_lock = PTHREAD_MUTEX_INITIALIZER;
static int fd;

static __attribute__((noinline)) void make_text(struct document *d, uint64_t seed)
{
	for (size_t i = 0; i < TEXT_SIZE; i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
		d->text[i] = "etaoinshrdlu    "[seed >> 60];
	}
}

static __attribute__((noinline)) void split_words(struct document *d)
{
	uint32_t word = 0;

	d->n_words = 0;
	for (size_t i = 0; i < TEXT_SIZE; i++)
		if (d->text[i] != ' ') {
			word = word * 31 + (unsigned char)d->text[i];
		} else if (word) {
			d->words[d->n_words++] = word;
			word = 0;
		}
}

static __attribute__((noinline)) void weigh_words(struct document *d)
{
	for (unsigned round = 0; round < weigh_rounds; round++)
		for (size_t i = 1; i < d->n_words; i++)
			d->words[i] = (d->words[i] ^ d->words[i - 1] >> 7) * 2654435761u + round;
}

static int compare_words(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static __attribute__((noinline)) void sort_words(struct document *d)
{
	if (has_sort_lock)
		pthread_mutex_lock(&sort_lock);
	qsort(d->words, d->n_words, sizeof(d->words[0]), compare_words);
	if (has_sort_lock)
		pthread_mutex_unlock(&sort_lock);
}

static __attribute__((noinline)) void store_line(const struct document *d, bool sync)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "%zu words, median %u\n", d->n_words,
			 d->words[d->n_words / 2]);

	if (write(fd, line, (size_t)n) < 0 || (sync && fsync(fd)))
		abort();
	if (sync && has_second_sync && (write(fd, line, (size_t)n) < 0 || fsync(fd)))
		abort();
}

static void pass_on(struct document *d) /* NULL: there are no more */
{
	pthread_mutex_lock(&queue_lock);
	while (queue_length == QUEUE)
		pthread_cond_wait(&queue_changed, &queue_lock);
	if (d)
		queue[(queue_first + queue_length++) % QUEUE] = d;
	queue_ended = !d;
	pthread_cond_broadcast(&queue_changed);
	pthread_mutex_unlock(&queue_lock);
}

static struct document *take(bool *sync)
{
	static unsigned taken;
	struct document *d = NULL;

	pthread_mutex_lock(&queue_lock);
	while (!queue_length && !queue_ended)
		pthread_cond_wait(&queue_changed, &queue_lock);
	if (queue_length) {
		d = queue[queue_first];
		queue_first = (queue_first + 1) % QUEUE;
		queue_length--;
		*sync = ++taken % DOCUMENTS_A_SYNC == 0;
		pthread_cond_broadcast(&queue_changed);
	}
	pthread_mutex_unlock(&queue_lock);
	return d;
}

static void *index_documents(void *arg)
{
	struct document *d;
	bool sync;

	(void)arg;
	pthread_setname_np(pthread_self(), "indexer");
	while ((d = take(&sync))) {
		split_words(d);
		weigh_words(d);
		sort_words(d);
		store_line(d, sync);
		free(d);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const char *change = argc > 2 ? argv[2] : "";
	pthread_t threads[WORKERS];

	if (argc < 2) {
		fputs("usage: diff_index FILE [slow|lock|fsync]\n", stderr);
		return 2;
	}
	fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0) {
		perror(argv[1]);
		return 1;
	}
	if (!strcmp(change, "slow"))
		weigh_rounds += WEIGH_ROUNDS / 20;
	has_sort_lock = !strcmp(change, "lock");
	has_second_sync = !strcmp(change, "fsync");
	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&threads[i], NULL, index_documents, NULL))
			return 1;
	for (unsigned i = 0; i < DOCUMENTS; i++) {
		struct document *d = malloc(sizeof(*d));

		if (!d)
			abort();
		make_text(d, i);
		pass_on(d);
	}
	pass_on(NULL);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	unlink(argv[1]);
	return 0;
}
