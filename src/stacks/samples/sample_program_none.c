/* SPDX-License-Identifier: Apache-2.0 */
/* Used in builds without clang or libbpf, in place of sample_program.c (Makefile). */
#include <errno.h>
#include <stddef.h>

#include "stacks/samples/sample_program.h"

int sample_program_new(const struct sample_program_config *c, struct sample_program **ret,
		       struct err_text *why)
{
	(void)c;
	(void)ret;
	return err_set(why, -EOPNOTSUPP,
		       "this sonda-probes was built where clang or libbpf was missing");
}

void sample_program_free(struct sample_program *p)
{
	(void)p;
}

int sample_program_attach(struct sample_program *p, unsigned cpu, int event, const int *followers)
{
	(void)p;
	(void)cpu;
	(void)event;
	(void)followers;
	return -EOPNOTSUPP;
}

int sample_program_descriptor(const struct sample_program *p)
{
	(void)p;
	return -EOPNOTSUPP;
}

const struct stack_sample *sample_program_peek(struct sample_program *p)
{
	(void)p;
	return NULL;
}

void sample_program_consume(struct sample_program *p)
{
	(void)p;
}

int sample_program_read_lost(struct sample_program *p)
{
	(void)p;
	return -EOPNOTSUPP;
}

uint64_t sample_program_take_lost(struct sample_program *p, unsigned cpu)
{
	(void)p;
	(void)cpu;
	return 0;
}
