/* SPDX-License-Identifier: Apache-2.0 */
/* The collector on a file system with little room. tests/system/test_ship.sh has the rest. */
#include "cli/ship/ship_collect.h"

#include <sys/statvfs.h>

#include "base/system/fs.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

#define TRACE_BYTES (3u << 20)

static char spool[512], from[512];
static uint64_t size; /* of the file system of the spool, without the reserve */
static uint64_t used;

static int add_used(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	if (type == FTW_F)
		used += (uint64_t)st->st_size;
	return 0;
}

/* Replaces libc's: only the spool uses the file system. The reserve is one byte. */
int fstatvfs(int fd, struct statvfs *st)
{
	used = 0;
	nftw(spool, add_used, 8, FTW_PHYS);
	*st = (struct statvfs){.f_frsize = 1, .f_blocks = 20, .f_bavail = 1};
	st->f_bavail += size > used ? size - used : 0;
	return 0;
}

/* Writes a trace that differs from others in its first byte. */
static void write_trace(void *const *state, const char *name, char first)
{
	char *bytes = calloc(1, TRACE_BYTES);
	FILE *f = fopen(temp_dir_path(state, 2, name), "w");

	assert_non_null(bytes);
	assert_non_null(f);
	bytes[0] = first;
	assert_int_equal(fwrite(bytes, 1, TRACE_BYTES, f), TRACE_BYTES);
	fclose(f);
	free(bytes);
}

static int count_name(void *ctx, const char *name, unsigned char d_type)
{
	++*(unsigned *)ctx;
	return 0;
}

static unsigned count_in_spool(void *const *state, const char *name)
{
	unsigned n = 0;

	assert_int_equal(fs_each(temp_dir_path(state, 3, name), count_name, &n), 0);
	return n;
}

/* Collects what is in the source directory. Returns how many traces are left for later. */
static unsigned collect(void)
{
	const struct ship_options options = {.spool = spool,
					     .from = {from},
					     .n_from = 1,
					     .machine = "web-1",
					     .max_bytes = 1u << 30,
					     .memory = 1u << 26};
	static const volatile sig_atomic_t stop;
	struct ship_collector *c;
	struct err_text e;
	unsigned later;

	assert_int_equal(ship_collector_open(&options, &stop, &c, &e), 0);
	later = ship_collector_pass(c);
	ship_collector_close(c);
	return later;
}

static int setup(void **state)
{
	if (temp_dir_setup(state))
		return -1;
	snprintf(spool, sizeof(spool), "%s", temp_dir_path(state, 0, "spool"));
	snprintf(from, sizeof(from), "%s", temp_dir_path(state, 1, "from"));
	return mkdir(from, 0700);
}

TEST_WITH(traces_that_fit_on_a_nearly_full_disk_are_taken, setup, temp_dir_teardown)
{
	/* A copy needs half as much again for its tables before it is made. */
	size = 2 * TRACE_BYTES + TRACE_BYTES * 2 / 3;
	write_trace(state, "from/a.pftrace", 'a');
	assert_int_equal(collect(), 0);
	write_trace(state, "from/b.pftrace", 'b');
	assert_int_equal(collect(), 0);
	assert_int_equal(count_in_spool(state, "spool/ready"), 2);
	assert_int_equal(count_in_spool(state, "spool/dropped"), 0);
}

TEST_WITH(the_oldest_trace_is_dropped_for_one_that_does_not_fit, setup, temp_dir_teardown)
{
	size = 2 * TRACE_BYTES;
	write_trace(state, "from/a.pftrace", 'a');
	assert_int_equal(collect(), 0);
	write_trace(state, "from/b.pftrace", 'b');
	assert_int_equal(collect(), 0);
	assert_int_equal(count_in_spool(state, "spool/ready"), 1);
	assert_int_equal(count_in_spool(state, "spool/dropped"), 1);
}
