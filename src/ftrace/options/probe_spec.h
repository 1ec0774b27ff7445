/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "base/text/str.h"

/*
 * A line of tracefs' kprobe_events or uprobe_events, as a user wrote it:
 *
 *	p[:[GROUP/][NAME]] PLACE [ARGUMENTS]		when PLACE is reached
 *	r[MAXACTIVE][:[GROUP/][NAME]] PLACE [ARGUMENTS]	when the function at PLACE returns
 *
 * PLACE is [MODULE:]SYMBOL[+OFFSET] or an address of the kernel, or FILE:OFFSET. What the line
 * means is the kernel's to judge; here it is only taken apart so far that the event can be made in
 * another group than the one that the user wrote, and is told by the name that he wrote.
 *
 * Format: Documentation/trace/kprobetrace.rst and uprobetracer.rst of the kernel.
 */
#define PROBE_SPEC_MAX 3800 /* bytes; the kernel takes 4094 with a name of ours */

enum probe_kind {
	PROBE_KERNEL, /* kprobe_events */
	PROBE_USER, /* uprobe_events */
};

struct probe_spec {
	char *type; /* owned: "p", "r", "r8" */
	char *group; /* owned: as the line says, else as the kernel would choose */
	char *name; /* owned: likewise */
	char *rest; /* owned: place and arguments, one space between two words */
	char *written; /* owned: all that the user wrote, in the same spelling */
};

/* 0; -EINVAL with a sentence: no line of this form, or one that would do something else; -ENOMEM. */
int probe_spec_parse(const char *line, enum probe_kind kind, struct probe_spec *ret,
		     struct err_text *e);
/*
 * May a consumer that is not root have it? Then it reads no memory and stops no program in the middle
 * of an instruction: PLACE is the name of a function of the kernel, and an argument is
 *
 *	[NAME=]VALUE[:TYPE]	VALUE: $arg1 to $arg6, $retval, $comm or %REGISTER
 *				TYPE: u, s or x with 8, 16, 32 or 64
 *
 * 0, or -EPERM with a sentence.
 */
int probe_spec_check_plain(const struct probe_spec *l, enum probe_kind kind, struct err_text *e);
/* Zeroed is fine. */
void probe_spec_deinit(struct probe_spec *l);

/* The command that makes it as group/name; b->failed when memory is out. */
void probe_spec_command(const struct probe_spec *l, const char *group, struct strbuf *b);
/* Where a byte of such a command stands in said. */
size_t probe_spec_written_at(const struct probe_spec *l, const char *group, size_t at);

/* A name as the kernel wants those of groups and events. */
bool probe_name_is_good(const char *name);
