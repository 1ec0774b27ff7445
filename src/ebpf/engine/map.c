/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/engine/map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>

#include "base/core/mem.h"

#define BATCH 256u
#define KEY_MAX 64u
#define ELEMENTS_MAX (1u << 20) /* of a hash that changes while it is read */

int map_cpus_init(struct map_cpus *m, int fd, uint32_t n_cpus, size_t value_size)
{
	if (fd < 0)
		return fd;
	m->fd = fd;
	m->n_cpus = n_cpus;
	m->n_words = (value_size + 7) / 8;
	m->values = calloc(n_cpus * m->n_words, sizeof(*m->values));
	return m->values ? 0 : -ENOMEM;
}

int map_cpus_read(struct map_cpus *m)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(m->fd, &zero, m->values) < 0 ? -errno : 0;
}

const void *map_cpus_at(const struct map_cpus *m, uint32_t cpu)
{
	return m->values + cpu * m->n_words;
}

int map_cpus_sum(struct map_cpus *m, void *ret_sum)
{
	uint64_t *sum = ret_sum;
	int r = map_cpus_read(m);

	if (r < 0)
		return r;
	for (size_t i = 0; i < m->n_words; i++) {
		sum[i] = 0;
		for (uint32_t cpu = 0; cpu < m->n_cpus; cpu++)
			sum[i] += m->values[cpu * m->n_words + i];
	}
	return 0;
}

void map_cpus_deinit(struct map_cpus *m)
{
	free(m->values);
	m->values = NULL;
}

int map_view_init(struct map_view *v, int fd, size_t size)
{
	void *at;

	if (fd < 0)
		return fd;
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	v->at = at;
	v->size = size;
	return 0;
}

void map_view_deinit(struct map_view *v)
{
	if (v->at)
		munmap(v->at, v->size);
	v->at = NULL;
}

static int read_one_by_one(int fd, uint32_t n, size_t value_size, void *ret_values)
{
	for (uint32_t i = 0; i < n; i++)
		if (bpf_map_lookup_elem(fd, &i, (char *)ret_values + i * value_size) < 0)
			return -errno;
	return 0;
}

int map_read_array(int fd, uint32_t n, size_t value_size, void *ret_values)
{
	_cleanup_(freep) uint32_t *keys = malloc(n * sizeof(*keys));
	uint32_t got = n, next;

	if (!keys)
		return -ENOMEM;
	/* Before Linux 5.6 there are no batch calls. */
	if (bpf_map_lookup_batch(fd, NULL, &next, keys, ret_values, &got, NULL) < 0 &&
	    errno != ENOENT)
		return read_one_by_one(fd, n, value_size, ret_values);
	return got == n ? 0 : read_one_by_one(fd, n, value_size, ret_values);
}

static int map_reader_alloc(struct map_reader *m)
{
	if (!m->keys)
		m->keys = malloc((size_t)BATCH * m->key_size);
	if (!m->values)
		m->values = malloc(BATCH * m->value_size);
	return m->keys && m->values ? 0 : -ENOMEM;
}

static int map_each_one_by_one(struct map_reader *m, map_each_fn fn, void *ctx)
{
	unsigned char key[KEY_MAX], next[KEY_MAX];
	const void *at = NULL;

	if (m->key_size > KEY_MAX)
		return -E2BIG;
	for (uint32_t i = 0; i < ELEMENTS_MAX; i++) {
		if (bpf_map_get_next_key(m->fd, at, next) < 0)
			return errno == ENOENT ? 0 : -errno;
		memcpy(key, next, m->key_size);
		at = key;
		/* The element may have been deleted. */
		if (bpf_map_lookup_elem(m->fd, key, m->values) == 0)
			fn(ctx, key, m->values);
	}
	return 0;
}

/* Reads the next batch of elements and calls fn for each. at: the position to continue from.
 * Returns 0, 1 if this was the last batch, or -errno. */
static int read_next_batch(struct map_reader *m, void *at, bool first, map_each_fn fn, void *ctx)
{
	uint32_t n = BATCH;
	int r = bpf_map_lookup_batch(m->fd, first ? NULL : at, at, m->keys, m->values, &n, NULL) < 0
			? -errno
			: 0;

	if (r < 0 && r != -ENOENT)
		return r;
	for (uint32_t i = 0; i < n; i++)
		fn(ctx, (char *)m->keys + (size_t)i * m->key_size,
		   (char *)m->values + i * m->value_size);
	return r == -ENOENT;
}

int map_each(struct map_reader *m, map_each_fn fn, void *ctx)
{
	uint64_t at[KEY_MAX / sizeof(uint64_t)] = {0};
	int r = map_reader_alloc(m);

	for (uint32_t i = 0; i < ELEMENTS_MAX / BATCH && r == 0 && !m->one_by_one; i++) {
		r = read_next_batch(m, at, i == 0, fn, ctx);
		/* ENOSPC: a chain of the hash is longer than a batch. */
		if (i == 0 && r < 0 && r != -ENOSPC)
			m->one_by_one = true;
	}
	if (m->one_by_one || r == -ENOSPC)
		r = map_each_one_by_one(m, fn, ctx);
	return MIN(r, 0);
}

void map_reader_deinit(struct map_reader *m)
{
	free(m->keys);
	free(m->values);
	m->keys = m->values = NULL;
}
