/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/engine/ring.h"

#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit/fixture.h"

/* A ring in a file in memory, which the test writes as the kernel does: the data is there twice. */
static struct ebpf_ring ring;
static int fd;
static char *memory;
static size_t page;
static uint64_t produced;

SETUP
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	produced = 0;
	fd = memfd_create("ring", MFD_CLOEXEC);
	assert_int_equal(ftruncate(fd, (off_t)(4 * page)), 0);
	memory = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(memory != MAP_FAILED);
	assert_int_equal(ebpf_ring_init(&ring, fd, page), 0);
}

TEARDOWN
{
	ebpf_ring_deinit(&ring);
	munmap(memory, 4 * page);
	close(fd);
}

static void put_u64(size_t at, uint64_t v)
{
	memcpy(memory + 2 * page + at % page, &v, sizeof(v));
	memcpy(memory + 3 * page + at % page, &v, sizeof(v));
}

/* Writes a record of words with that value. Returns the place of its head. */
static size_t put_record(uint32_t flags, uint32_t size, uint64_t value)
{
	size_t at = produced;

	put_u64(at, flags | size);
	for (uint32_t i = 0; i < size; i += 8)
		put_u64(at + 8 + i, value);
	produced += (size + 8 + 7) / 8 * 8;
	memcpy(memory + page, &produced, sizeof(produced));
	return at;
}

static uint64_t peek(void)
{
	uint32_t size;
	const uint64_t *record = ebpf_ring_peek(&ring, &size);

	return record ? *record : 0;
}

static uint64_t consumed(void)
{
	uint64_t v;

	memcpy(&v, memory, sizeof(v));
	return v;
}

FIXTURE_TEST(a_record_stays_until_it_is_consumed)
{
	uint32_t size = 0;

	assert_null(ebpf_ring_peek(&ring, &size));
	put_record(0, 12, 1);
	put_record(0, 8, 2);
	assert_int_equal(peek(), 1);
	assert_int_equal(peek(), 1);
	assert_non_null(ebpf_ring_peek(&ring, &size));
	assert_int_equal(size, 12);
	assert_int_equal(consumed(), 0);
	ebpf_ring_consume(&ring);
	assert_int_equal(consumed(), 24);
	assert_int_equal(peek(), 2);
	ebpf_ring_consume(&ring);
	assert_int_equal(consumed(), 40);
	assert_int_equal(peek(), 0);
}

FIXTURE_TEST(a_record_that_is_being_written_is_not_read)
{
	size_t at = put_record(BPF_RINGBUF_BUSY_BIT, 8, 1);

	put_record(0, 8, 2);
	assert_int_equal(peek(), 0);
	put_u64(at, 8);
	assert_int_equal(peek(), 1);
}

FIXTURE_TEST(a_discarded_record_is_skipped)
{
	put_record(BPF_RINGBUF_DISCARD_BIT, 16, 1);
	put_record(0, 8, 2);
	assert_int_equal(peek(), 2);
	assert_int_equal(consumed(), 24);
}

FIXTURE_TEST(records_continue_at_the_begin_of_the_ring)
{
	for (uint64_t i = 1; i < 1000; i++) {
		put_record(0, 24, i);
		assert_int_equal(peek(), i);
		ebpf_ring_consume(&ring);
	}
	assert_true(consumed() > page);
}

FIXTURE_TEST(a_length_beyond_the_end_is_not_read)
{
	size_t at = put_record(0, 8, 1);

	put_u64(at, 16);
	assert_int_equal(peek(), 0);
}

FIXTURE_TEST(a_missing_map_is_an_error)
{
	struct ebpf_ring none = {0};

	assert_int_equal(ebpf_ring_init(&none, -ENOENT, page), -ENOENT);
	ebpf_ring_deinit(&none);
}
