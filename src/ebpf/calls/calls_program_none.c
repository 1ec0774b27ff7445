/* SPDX-License-Identifier: Apache-2.0 */
/* Used in builds without clang or libbpf, in place of calls_program.c (Makefile). */
#include <errno.h>

#include "ebpf/calls/calls_program.h"

int calls_program_new(const struct calls_config *c, const char *tracefs_root,
		      struct calls_program **ret, struct err_text *e)
{
	(void)c;
	(void)tracefs_root;
	(void)ret;
	return err_set(e, -ENOTSUP, "this sonda-probes was built without clang or libbpf");
}

void calls_program_free(struct calls_program *p)
{
	(void)p;
}

int calls_program_wakeup_fd(const struct calls_program *p)
{
	(void)p;
	return -1;
}

const void *calls_program_peek(struct calls_program *p, uint32_t *ret_size)
{
	(void)p;
	(void)ret_size;
	return NULL;
}

void calls_program_consume(struct calls_program *p)
{
	(void)p;
}

void calls_program_each_open_call(struct calls_program *p,
				  void (*fn)(void *ctx, const struct call_record *r), void *ctx)
{
	(void)p;
	(void)fn;
	(void)ctx;
}

void calls_program_measure_cost(struct calls_program *p)
{
	(void)p;
}

void calls_program_read_counts(struct calls_program *p, struct calls_counts *ret)
{
	(void)p;
	(void)ret;
}
