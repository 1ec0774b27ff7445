/* SPDX-License-Identifier: Apache-2.0 */
#include <bpf/bpf.h>

#include "ebpf/engine/map.h"
#include "unit/ebpf/fake_bpf.h"
#include "unit/fixture.h"

#define ELEMENTS 1000u

static int fd;
static struct map_reader reader;
static uint64_t sum, seen;

SETUP
{
	fake_bpf_reset(3);
	reader = (struct map_reader){.key_size = sizeof(uint32_t), .value_size = sizeof(uint64_t)};
	sum = seen = 0;
	fd = -1;
}

TEARDOWN
{
	map_reader_deinit(&reader);
	close(fd);
	fake_bpf_reset(0);
}

static void make(enum bpf_map_type type, uint32_t value_size, uint32_t n)
{
	fd = bpf_map_create(type, "map", sizeof(uint32_t), value_size, n, NULL);
	assert_true(fd >= 0);
	reader.fd = fd;
}

/* A hash of ELEMENTS, whose values are 1, 2 ... */
static void make_hash(void)
{
	make(BPF_MAP_TYPE_HASH, sizeof(uint64_t), ELEMENTS);
	for (uint32_t i = 1; i <= ELEMENTS; i++) {
		const uint64_t value = i;

		assert_int_equal(bpf_map_update_elem(fd, &i, &value, BPF_ANY), 0);
	}
}

static void see(void *ctx, const void *key, const void *value)
{
	uint32_t k;
	uint64_t v;

	assert_ptr_equal(ctx, &sum);
	memcpy(&k, key, sizeof(k));
	memcpy(&v, value, sizeof(v));
	assert_int_equal(k, v);
	sum += v;
	seen++;
}

static void assert_all_seen(void)
{
	sum = seen = 0;
	assert_int_equal(map_each(&reader, see, &sum), 0);
	assert_int_equal(seen, ELEMENTS);
	assert_int_equal(sum, ELEMENTS * (ELEMENTS + 1) / 2);
}

FIXTURE_TEST(a_hash_in_batches)
{
	make_hash();
	fake_bpf_fail(BPF_MAP_LOOKUP_ELEM, NULL, EPERM);
	assert_all_seen();
	assert_false(reader.one_by_one);
}

FIXTURE_TEST(an_empty_one)
{
	make(BPF_MAP_TYPE_HASH, sizeof(uint64_t), 4);
	assert_int_equal(map_each(&reader, see, &sum), 0);
	assert_int_equal(seen, 0);
}

/* Before 5.6; it is not asked for batches again. */
FIXTURE_TEST(a_kernel_without_batches)
{
	make_hash();
	fake_bpf_fail(BPF_MAP_LOOKUP_BATCH, NULL, EINVAL);
	assert_all_seen();
	assert_true(reader.one_by_one);
	fake_bpf_fail_no_more();
	fake_bpf_fail(BPF_MAP_LOOKUP_BATCH, NULL, EPERM);
	assert_all_seen();
}

/* This time only. */
FIXTURE_TEST(a_chain_longer_than_a_batch)
{
	make_hash();
	fake_bpf_fail(BPF_MAP_LOOKUP_BATCH, NULL, ENOSPC);
	assert_all_seen();
	assert_false(reader.one_by_one);
}

FIXTURE_TEST(a_run_that_has_ended_meanwhile)
{
	make_hash();
	fake_bpf_fail(BPF_MAP_LOOKUP_BATCH, NULL, EINVAL);
	fake_bpf_fail(BPF_MAP_LOOKUP_ELEM, NULL, ENOENT);
	assert_int_equal(map_each(&reader, see, &sum), 0);
	assert_int_equal(seen, 0);
}

FIXTURE_TEST(neither_way)
{
	make_hash();
	fake_bpf_fail(BPF_MAP_LOOKUP_BATCH, NULL, EINVAL);
	fake_bpf_fail(BPF_MAP_GET_NEXT_KEY, NULL, EIO);
	assert_int_equal(map_each(&reader, see, &sum), -EIO);
}

FIXTURE_TEST(an_array_either_way)
{
	uint64_t values[5] = {0};

	make(BPF_MAP_TYPE_ARRAY, sizeof(uint64_t), 5);
	for (uint32_t i = 0; i < 5; i++)
		*(uint64_t *)fake_value("map", i) = 10 + i;
	assert_int_equal(map_read_array(fd, 5, sizeof(*values), values), 0);
	assert_int_equal(values[4], 14);
	*(uint64_t *)fake_value("map", 4) = 99;
	fake_bpf_fail(BPF_MAP_LOOKUP_BATCH, NULL, EINVAL);
	assert_int_equal(map_read_array(fd, 5, sizeof(*values), values), 0);
	assert_int_equal(values[4], 99);
	fake_bpf_fail(BPF_MAP_LOOKUP_ELEM, NULL, EPERM);
	assert_int_equal(map_read_array(fd, 5, sizeof(*values), values), -EPERM);
}

FIXTURE_TEST(values_of_cpus)
{
	struct map_cpus cpus = {0};
	uint64_t all[2];

	make(BPF_MAP_TYPE_PERCPU_ARRAY, 12, 1); /* a whole word and a half one */
	assert_int_equal(map_cpus_init(&cpus, fd, 3, 12), 0);
	for (uint32_t i = 0; i < 3; i++) {
		((uint64_t *)fake_value("map", i))[0] = 1ull << (20 * i);
		((uint32_t *)fake_value("map", i))[2] = i;
	}
	assert_int_equal(map_cpus_sum(&cpus, all), 0);
	assert_true(all[0] == (1 | 1ull << 20 | 1ull << 40));
	assert_int_equal(all[1], 3);
	assert_int_equal(((const uint32_t *)map_cpus_at(&cpus, 2))[2], 2);
	fake_bpf_fail(BPF_MAP_LOOKUP_ELEM, "map", EIO);
	assert_int_equal(map_cpus_sum(&cpus, all), -EIO);
	map_cpus_deinit(&cpus);
	assert_int_equal(map_cpus_init(&cpus, -ENOENT, 3, 12), -ENOENT);
	map_cpus_deinit(&cpus);
}

FIXTURE_TEST(an_array_in_our_memory)
{
	struct map_view v = {0};

	make(BPF_MAP_TYPE_ARRAY, sizeof(uint64_t), 5);
	assert_int_equal(map_view_init(&v, fd, 5 * sizeof(uint64_t)), 0);
	*(uint64_t *)fake_value("map", 3) = 7;
	assert_int_equal(((uint64_t *)v.at)[3], 7);
	map_view_deinit(&v);
	map_view_deinit(&v);
	assert_int_equal(map_view_init(&v, -ENOENT, 8), -ENOENT);
	/* What is no such map cannot be mapped. */
	close(fd);
	fd = epoll_create1(0);
	assert_int_equal(map_view_init(&v, fd, 8), -ENODEV);
	map_view_deinit(&v);
}
