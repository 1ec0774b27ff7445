/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/probes/probe_text.h"

/*
 * Adds a line for each place of the static probes that the text names:
 *
 *	postgres:postgresql:lwlock__wait__start
 *	p:postgresql/lwlock__wait__start /usr/bin/postgres:0x462322(0x88597e) arg1=%ax:u64 arg2=%r14:u32
 *	p:postgresql/lwlock__wait__start /usr/bin/postgres:0x462752(0x88597e) arg1=%ax:u64 arg2=\0:u32
 *
 * The kernel makes one event of places that have the same name and the same types of arguments. For
 * places with other types, "_2" is appended to the name.
 *
 * Returns 0; -ENOMEM; or another -errno and sets e.
 */
int static_probes_add(struct user_probes *u, const struct probe_text *t,
		      struct program_reader *reader, const char *path, struct err_text *e);
