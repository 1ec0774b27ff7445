/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/err.h"
#include "cli/probes/probe_lines.h"

/*
 * Probes of programs by name, as lines of FtraceConfig.uprobe_events:
 *
 *	--uprobe 'libc.so.6:open(str path, int flags)'
 *	p:probe_libc/open /usr/lib/x86_64-linux-gnu/libc.so.6:0xf9770 path=+0(%di):string flags=%si:s32
 *	--uretprobe 'libc.so.6:open(int fd)'
 *	r:probe_libc/open__return /usr/lib/x86_64-linux-gnu/libc.so.6:0xf9770 fd=$retval:s32
 *	--uprobe-span './app:ns::Class::method(int n) -> int'
 *	s:probe_app/ns_Class_method /home/me/app:0x1160 n=%si:s32 -> ret=$retval:s32
 *	--usdt 'postgres:postgresql:query__start(str sql)'
 *	p:postgresql/query__start /usr/lib/postgresql/15/bin/postgres:0x4a2f0 sql=+0(%di):string
 *
 * An unprivileged process reads the program (symbols/program_reader.h).
 */

/* Adds the lines of a probe: one, or one for each place of a static probe. A line of uprobe_events
 * is added as it is, with the offset in place of the name of a function. Returns 0; -ENOMEM; or
 * -EINVAL and sets e, which begins with the option and the text. */
int user_probes_add(struct user_probes *u, enum user_probe_kind kind, const char *text,
		    struct err_text *e);
/* The same for a function of the kernel, as a line of KprobeEvent.definition. The kernel finds the
 * function. e begins with the text. */
int user_probes_add_kernel(struct user_probes *u, enum user_probe_kind kind, const char *text,
			   struct err_text *e);
