/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/event_table.h"
#include "ftrace/page.h"
#include "ftrace/setup.h"

/*
 * System calls of 32-bit programs on a 64-bit kernel. Their records in raw_syscalls look like those
 * of 64-bit programs, but the number is another table's: readers would name them wrongly. Here they
 * become events of their own, with the name in them:
 *
 *	raw_syscalls/compat_sys_enter	id, name, arg0 .. arg5
 *	raw_syscalls/compat_sys_exit	id, ret
 *
 * Records are changed in the page, before it is translated.
 */
struct compat_calls;

/* Where the session records raw_syscalls in an instance of its own: adds the rows to its table. 0,
 * also where there is nothing to do (*ret is NULL then); -ENOMEM. */
int compat_calls_new(const struct setup *s, const struct event_table_options *options,
		     struct event_table *table, struct compat_calls **ret);
/* NULL is fine. */
struct compat_calls *compat_calls_free(struct compat_calls *c);
/* One sub-buffer as it was read; ctx is a struct compat_calls. */
void compat_calls_edit(void *ctx, const struct page_layout *layout, uint8_t *page, size_t len);
