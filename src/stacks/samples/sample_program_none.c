/* SPDX-License-Identifier: Apache-2.0 */
/* Used in builds without clang or libbpf, in place of sample_program.c (Makefile). */
#include <errno.h>
#include <stddef.h>

#include "stacks/samples/sample_program.h"

int sample_filter_new(const struct subject_ids *subject, struct sample_filter **ret,
		      struct err_text *why)
{
	return err_set(why, -EOPNOTSUPP, "this sonda-probes was built without clang or libbpf");
}

void sample_filter_free(struct sample_filter *f)
{
}

int sample_filter_attach(struct sample_filter *f, int event)
{
	return -EOPNOTSUPP;
}

uint64_t sample_filter_count_missed(const struct sample_filter *f)
{
	return 0;
}

int sample_program_new(const struct sample_program_config *c, struct sample_program **ret,
		       struct err_text *why)
{
	return err_set(why, -EOPNOTSUPP, "this sonda-probes was built without clang or libbpf");
}

void sample_program_free(struct sample_program *p)
{
}

int sample_program_attach(struct sample_program *p, unsigned cpu, int event, const int *followers)
{
	return -EOPNOTSUPP;
}

int sample_program_wakeup_fd(const struct sample_program *p)
{
	return -EOPNOTSUPP;
}

uint64_t sample_program_count_missed(const struct sample_program *p)
{
	return 0;
}

const struct stack_sample *sample_program_peek(struct sample_program *p)
{
	return NULL;
}

void sample_program_consume(struct sample_program *p)
{
}

int sample_program_read_lost(struct sample_program *p)
{
	return -EOPNOTSUPP;
}

uint64_t sample_program_count_new_lost(struct sample_program *p, unsigned cpu)
{
	return 0;
}
