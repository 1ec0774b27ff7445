/* SPDX-License-Identifier: Apache-2.0 */
/* Used in builds without clang or libbpf, in place of waits_program.c (Makefile). */
#include <errno.h>

#include "stacks/waits/waits_program.h"

int waits_program_new(const struct waits_config *c, const uint32_t own[static WAITS_OWN_MAX],
		      const struct unwind_maps *tables, const char *tracefs_root,
		      struct waits_program **ret, struct err_text *e)
{
	return err_set(e, -ENOTSUP, "this sonda-probes was built without clang or libbpf");
}

void waits_program_free(struct waits_program *p)
{
}

int waits_program_wakeup_fd(const struct waits_program *p)
{
	return -1;
}

bool waits_program_is_process_recorded(const struct waits_program *p, int32_t pid)
{
	return true;
}

void waits_program_read_records(struct waits_program *p, struct waits_queue *q)
{
}

void waits_program_end_waits(struct waits_program *p, struct waits_queue *q)
{
}

void waits_program_clear_sent_stacks(struct waits_program *p)
{
}

int waits_program_each_total(struct waits_program *p, unsigned table,
			     void (*fn)(void *ctx, const void *key, const void *sum), void *ctx)
{
	return 0;
}

int waits_program_flush_totals(struct waits_program *p)
{
	return 0;
}

uint32_t waits_program_table_max(unsigned table)
{
	return 0;
}

size_t waits_program_key_size(unsigned table)
{
	return 0;
}

int waits_program_remove_total(struct waits_program *p, unsigned table, const void *key,
			       struct wait_sum *ret)
{
	return -ENOENT;
}

bool waits_program_check_cost(struct waits_program *p)
{
	return true;
}

void waits_program_read_counts(struct waits_program *p, struct waits_counts *ret)
{
	*ret = (struct waits_counts){0};
}
