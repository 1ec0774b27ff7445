/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads BPF maps. A value of a per-CPU map consists of n_cpus values in the order of CPUs, each
 * rounded up to 8 bytes.
 */

/* The single element of a per-CPU array. */
struct map_cpus {
	int fd; /* borrowed */
	uint32_t n_cpus;
	size_t n_words; /* words of a value */
	uint64_t *values; /* owned */
};
/* Allocates the values. fd may be a negative errno, which is returned. Returns 0 or -errno.
 * Zero-initialise; call deinit also after an error. */
int map_cpus_init(struct map_cpus *m, int fd, uint32_t n_cpus, size_t value_size);
/* Returns 0 or -errno. */
int map_cpus_read(struct map_cpus *m);
/* Returns the value of a CPU from the last read. */
const void *map_cpus_at(const struct map_cpus *m, uint32_t cpu);
/* Reads the element and adds up each u64 over all CPUs; ret_sum has the size of a value. Returns 0
 * or -errno. */
int map_cpus_sum(struct map_cpus *m, void *ret_sum);
void map_cpus_deinit(struct map_cpus *m);

/* An array with BPF_F_MMAPABLE, mapped until deinit; it changes while it is read. Zero-initialise;
 * call deinit also after an error. */
struct map_view {
	void *at;
	size_t size;
};
/* Maps the array. size: of all values, each rounded up to 8 bytes. fd may be a negative errno,
 * which is returned. Returns 0 or -errno. */
int map_view_init(struct map_view *v, int fd, size_t size);
void map_view_deinit(struct map_view *v);

/* Reads an array of n values of value_size bytes (not per-CPU). Returns 0 or -errno. */
int map_read_array(int fd, uint32_t n, size_t value_size, void *ret_values);

/* Called for each element of a hash; key and value are borrowed during the call. */
typedef void (*map_each_fn)(void *ctx, const void *key, const void *value);

/* Reads a hash in batches. Zero-initialise and set the first three fields; call map_reader_deinit()
 * at the end. */
struct map_reader {
	int fd; /* borrowed */
	uint32_t key_size;
	size_t value_size; /* of all CPUs if it is a per-CPU map */
	void *keys, *values; /* owned */
	bool one_by_one; /* the kernel has no batch calls for this map */
};

/* Calls fn for all elements. Elements added or removed meanwhile may be missed. Returns 0 or
 * -errno. */
int map_each(struct map_reader *m, map_each_fn fn, void *ctx);
void map_reader_deinit(struct map_reader *m);
