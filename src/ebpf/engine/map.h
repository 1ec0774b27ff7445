/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Maps of the kernel, read. Of a per-CPU map a value is n_cpus values, each rounded up to 8 bytes,
 * in the order of CPUs.
 */

/* The only element of a per-CPU array. */
struct map_cpus {
	int fd; /* borrowed */
	uint32_t n_cpus;
	size_t n_words; /* of a value */
	uint64_t *values; /* owned */
};
/* fd may be an error, which is returned. Zero-initialise; deinit also after a failure. */
int map_cpus_init(struct map_cpus *m, int fd, uint32_t n_cpus, size_t value_size);
/* 0 or -errno. */
int map_cpus_read(struct map_cpus *m);
/* The value of a CPU, as it was read last. */
const void *map_cpus_at(const struct map_cpus *m, uint32_t cpu);
/* Reads it, and adds up each u64 of it over all CPUs; ret_sum has the size of a value. 0 or -errno. */
int map_cpus_sum(struct map_cpus *m, void *ret_sum);
void map_cpus_deinit(struct map_cpus *m);

/* An array with BPF_F_MMAPABLE in our memory, for as long as the map is there; it changes while it is
 * read. Zero-initialise; deinit also after a failure. */
struct map_view {
	void *at;
	size_t size;
};
/* size: of all values, each rounded up to 8 bytes. 0 or -errno; fd as above. */
int map_view_init(struct map_view *v, int fd, size_t size);
void map_view_deinit(struct map_view *v);

/* An array of n values of value_size bytes, not per CPU. 0 or -errno. */
int map_read_array(int fd, uint32_t n, size_t value_size, void *ret_values);

/* Called for each element of a hash; key and value are borrowed during the call. */
typedef void (*map_each_fn)(void *ctx, const void *key, const void *value);

/* How a hash is read: room for what comes in one call of the kernel. Zero-initialise, set the first
 * three; map_reader_deinit frees. */
struct map_reader {
	int fd; /* borrowed */
	uint32_t key_size;
	size_t value_size; /* of all CPUs, where it is per CPU */
	void *keys, *values; /* owned */
	bool one_by_one; /* this kernel has no batches for it */
};

/* All elements; those that are added or removed meanwhile may be seen or not. 0 or -errno. */
int map_each(struct map_reader *m, map_each_fn fn, void *ctx);
void map_reader_deinit(struct map_reader *m);
