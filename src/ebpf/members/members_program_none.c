/* SPDX-License-Identifier: Apache-2.0 */
/* Used in builds without clang or libbpf, in place of members_program.c (Makefile). */
#include <errno.h>

#include "ebpf/members/members_program.h"

int members_program_new(const char *tracefs_root, struct members_program **ret, struct err_text *e)
{
	(void)tracefs_root;
	(void)ret;
	return err_set(e, -ENOTSUP, "this sonda-probes was built without clang or libbpf");
}

void members_program_free(struct members_program *p)
{
	(void)p;
}

const void *members_program_peek(struct members_program *p, uint32_t *ret_type)
{
	(void)p;
	(void)ret_type;
	return NULL;
}

void members_program_consume(struct members_program *p)
{
	(void)p;
}

uint64_t members_program_count_lost(struct members_program *p)
{
	(void)p;
	return 0;
}

int members_program_watched_fd(const struct members_program *p)
{
	(void)p;
	return -ENOTSUP;
}

int members_program_open_threads(const struct members_program *p)
{
	(void)p;
	return -ENOTSUP;
}
