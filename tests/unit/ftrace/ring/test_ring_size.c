/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of instance.h are a kernel here, which lacks what a test wants it to lack. */

#include "ftrace/ring/ring_config.h"
#include "unit/fixture.h"

static struct kernel {
	bool old; /* one size of sub-buffers */
	bool deaf; /* buffer_size_kb cannot be written */
	uint32_t row_kb; /* memory in a row */
	uint32_t room_kb; /* memory at all */
	uint32_t subbuf_kb, buffer_kb; /* as they are now */
	uint32_t most_at_once; /* by which the ring grew or shrank */
	bool others; /* use it, too */
	unsigned writes;
} kernel;

static struct setup_errors errors;

int instance_write(const struct instance *i, const char *file, const char *text)
{
	uint32_t kb = (uint32_t)strtoul(text, NULL, 10), size;

	kernel.writes++;
	if (!strcmp(file, "buffer_size_kb")) {
		if (kernel.deaf)
			return -EBUSY;
		if (kb > kernel.room_kb || kernel.subbuf_kb > kernel.row_kb)
			return -ENOMEM;
		size = kb > kernel.buffer_kb ? kb - kernel.buffer_kb : kernel.buffer_kb - kb;
		kernel.most_at_once = MAX(kernel.most_at_once, size);
		kernel.buffer_kb = kb;
		return 0;
	}
	assert_string_equal(file, "buffer_subbuf_size_kb");
	if (kernel.old)
		return -ENOENT;
	if (!kb || kb > 512)
		return -EINVAL;
	for (size = 4; size < kb; size *= 2)
		;
	if (size > kernel.row_kb)
		return -ENOMEM;
	kernel.subbuf_kb = size;
	return 0;
}

bool instance_has_changed(const struct instance *i, const char *file)
{
	assert_string_equal(file, "buffer_size_kb");
	return !kernel.others;
}

uint32_t instance_ring_kb(const struct instance *i)
{
	return kernel.buffer_kb;
}

uint32_t instance_subbuf_kb(const struct instance *i)
{
	return kernel.old ? 4 : kernel.subbuf_kb;
}

SETUP
{
	kernel = (struct kernel){
		.row_kb = 512, .room_kb = 1 << 20, .subbuf_kb = 4, .buffer_kb = 1410};
}

TEARDOWN
{
	setup_errors_deinit(&errors);
}

static uint32_t set(uint32_t buffer_kb, uint32_t subbuf_kb)
{
	const struct ftrace_settings s = {.buffer_size_kb = buffer_kb, .subbuf_size_kb = subbuf_kb};

	setup_errors_deinit(&errors);
	return ring_size_set(&(struct instance){0}, &s, &errors);
}

static void assert_report(const char *text)
{
	assert_non_null(errors.failed);
	assert_string_equal(errors.failed[0], text);
	assert_null(errors.failed[1]);
}

/* Sub-buffers are as large as the ring allows; with a watermark, two and more are below it. */
FIXTURE_TEST(sizes_that_are_chosen)
{
	static const struct {
		uint32_t buffer_kb, watermark, subbuf_kb;
	} rows[] = {
		{16384, 0, 32}, {512, 0, 32},	{511, 0, 16},  {64, 0, 4},   {1, 0, 4},
		{2048, 50, 32}, {2048, 10, 32}, {2048, 2, 16}, {2048, 1, 8}, {2048, UINT32_MAX, 32},
	};

	for (unsigned i = 0; sysconf(_SC_PAGESIZE) == 4096 && i < ARRAY_SIZE(rows); i++) {
		const struct ftrace_settings s = {.buffer_size_kb = rows[i].buffer_kb,
						  .watermark = rows[i].watermark};

		assert_int_equal(ring_size_set(&(struct instance){0}, &s, &errors),
				 rows[i].buffer_kb);
		assert_int_equal(kernel.subbuf_kb, rows[i].subbuf_kb);
	}
}

FIXTURE_TEST(as_asked)
{
	assert_int_equal(set(2048, 0), 2048);
	assert_int_equal(kernel.subbuf_kb, 32);
	assert_int_equal(kernel.buffer_kb, 2048);
	assert_int_equal(set(2048, 128), 2048);
	assert_int_equal(kernel.subbuf_kb, 128);
	assert_int_equal(set(2048, 4), 2048);
	assert_int_equal(kernel.subbuf_kb, 4);
	assert_null(errors.failed);
}

FIXTURE_TEST(sizes_that_there_are_not)
{
	assert_int_equal(set(2048, 100), 2048);
	assert_int_equal(kernel.subbuf_kb, 128);
	assert_report("option:subbuf_size_kb (100: the kernel uses 128)");
	assert_int_equal(set(2048, 1 << 20), 2048);
	assert_int_equal(kernel.subbuf_kb, 32);
	assert_report("option:subbuf_size_kb (1048576: Invalid argument; using 32 KiB)");
}

FIXTURE_TEST(a_kernel_with_one_size)
{
	kernel.old = true;
	assert_int_equal(set(2048, 0), 2048);
	assert_null(errors.failed);
	assert_int_equal(set(2048, 4), 2048);
	assert_null(errors.failed);
	assert_int_equal(set(2048, 64), 2048);
	assert_report("option:subbuf_size_kb (the kernel supports only 4)");
}

FIXTURE_TEST(no_memory_in_a_row)
{
	kernel.row_kb = 8;
	assert_int_equal(set(2048, 0), 2048);
	assert_int_equal(kernel.subbuf_kb, 8);
	assert_null(errors.failed); /* the config does not set them */
	assert_int_equal(set(2048, 64), 2048);
	assert_int_equal(kernel.subbuf_kb, 8);
	assert_report("option:subbuf_size_kb (64: the kernel uses 8)");
}

FIXTURE_TEST(no_memory)
{
	kernel.room_kb = 1000;
	assert_int_equal(set(2048, 0), 512);
	assert_int_equal(kernel.buffer_kb, 512);
	assert_report("option:buffer_size_kb (2048: no memory; using 512 KiB)");

	kernel.room_kb = 0; /* it ends */
	assert_int_equal(set(2048, 0), 512);
	assert_report("option:buffer_size_kb (2048: Cannot allocate memory)");
	assert_true(kernel.writes < 100);
}

FIXTURE_TEST(a_ring_that_cannot_be_changed)
{
	kernel.deaf = true;
	assert_int_equal(set(2048, 0), 1410);
	assert_report("option:buffer_size_kb (2048: Device or resource busy)");
}

/* Of all CPUs together 128 MiB at a time. */
FIXTURE_TEST(large_rings_grow_and_shrink_in_steps)
{
	uint32_t step = (128u << 10) / (uint32_t)sysconf(_SC_NPROCESSORS_CONF);

	kernel.room_kb = UINT32_MAX;
	assert_int_equal(set(5 * step + 1, 0), 5 * step + 1);
	assert_int_equal(kernel.buffer_kb, 5 * step + 1);
	assert_in_range(kernel.most_at_once, step / 2, step);
	kernel.others = true;
	ring_size_shrink(&(struct instance){0});
	assert_int_equal(kernel.buffer_kb, 5 * step + 1);
	kernel.others = false;
	ring_size_shrink(&(struct instance){0});
	assert_in_range(kernel.buffer_kb, 1, step);
	assert_in_range(kernel.most_at_once, step / 2, step);
	assert_null(errors.failed);
}

FIXTURE_TEST(a_large_ring_that_memory_ends_for)
{
	uint32_t step = (128u << 10) / (uint32_t)sysconf(_SC_NPROCESSORS_CONF);

	kernel.room_kb = 3 * step;
	assert_int_equal(set(4 * step, 0), 2 * step);
	assert_int_equal(kernel.buffer_kb, 2 * step);
	assert_non_null(errors.failed);
}

/* Its sub-buffers get their old size in a small ring. */
FIXTURE_TEST(an_attached_ring_is_restored_small)
{
	const struct instance attached = {.override = (struct override *)state};

	kernel.buffer_kb = 2048;
	ring_size_shrink(&attached);
	assert_int_equal(kernel.buffer_kb, 1024);
	kernel.buffer_kb = 512;
	ring_size_shrink(&attached);
	assert_int_equal(kernel.buffer_kb, 512);
}
