/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "base/text/str.h"

/*
 * A probe definition in the syntax of tracefs' kprobe_events and uprobe_events:
 *
 *	p[:[GROUP/][NAME]] PLACE [ARGUMENTS]		at PLACE
 *	r[MAXACTIVE][:[GROUP/][NAME]] PLACE [ARGUMENTS]	when the function at PLACE returns
 *	s[:[GROUP/][NAME]] PLACE [ARGUMENTS] [-> ARGUMENTS]	both, as a slice (not the kernel's)
 *
 * PLACE is [MODULE:]SYMBOL[+OFFSET], an address of the kernel, or FILE:OFFSET. The kernel
 * validates the definition. It is parsed here only to create the event in a group of the session,
 * while the trace shows the user's names.
 *
 * Format: Documentation/trace/kprobetrace.rst and uprobetracer.rst of the kernel.
 */
#define PROBE_SPEC_MAX 3800 /* bytes; the kernel's limit is 4094, including our names */

enum probe_kind {
	PROBE_KERNEL, /* kprobe_events */
	PROBE_USER, /* uprobe_events */
};

struct probe_spec {
	char *type; /* owned: "p", "r", "r8", "s" */
	char *group; /* owned: of the definition, or the kernel's default */
	char *name; /* owned: likewise */
	char *rest; /* owned: location and arguments, separated by single spaces */
	char *written; /* owned: the whole definition, with single spaces */
	size_t rest_at; /* offset of rest in written */
};

/* Returns 0, -EINVAL with e if the definition is malformed or not a probe, or -ENOMEM. */
int probe_spec_parse(const char *line, enum probe_kind kind, struct probe_spec *ret,
		     struct err_text *e);
/*
 * Checks whether a consumer that is not root may define the probe. It must not read memory or stop
 * a program in the middle of a function: PLACE is the name of a kernel function, and an argument
 * is
 *
 *	[NAME=]VALUE[:TYPE]	VALUE: $arg1 to $arg6, $retval, $comm or %REGISTER
 *				TYPE: u, s or x with 8, 16, 32 or 64
 *
 * Returns 0, or -EPERM with e.
 */
int probe_spec_check_plain(const struct probe_spec *l, enum probe_kind kind, struct err_text *e);
static inline bool probe_spec_is_span(const struct probe_spec *l)
{
	return *l->type == 's';
}
/* Makes the two probes of a span: of the call, and of the return. Returns 0 or -ENOMEM. */
int probe_spec_split(const struct probe_spec *l, enum probe_kind kind, struct probe_spec *ret_call,
		     struct probe_spec *ret_return);
/* Zeroed is allowed. */
void probe_spec_deinit(struct probe_spec *l);

/* Appends the command that creates the probe as group/name. Sets b->failed if out of memory. */
void probe_spec_write_command(const struct probe_spec *l, const char *group, struct strbuf *b);
/* Returns the offset in `written` of byte `at` of that command; 0 for a byte before its
 * location. */
size_t probe_spec_find_written_offset(const struct probe_spec *l, const char *group, size_t at);
