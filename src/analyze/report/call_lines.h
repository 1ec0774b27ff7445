/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/store/store.h"
#include "base/text/str.h"

/*
 * System calls as strace -y prints them, from slices sys_NAME of threads: those of linux.syscalls
 * have strings, those of raw_syscalls events have numbers only.
 *
 * Descriptors get their names from earlier calls: the path by which a file was opened, or the kind
 * of another descriptor. So calls have to be added in the order of their begins.
 */
struct call_lines;

/* Returns NULL if memory runs out. */
struct call_lines *call_lines_new(const struct store *s);
void call_lines_free(struct call_lines *l);

/* Makes a row of TABLE_SLICE the current call, of the thread utid. Applies the effect of the
 * previous call on descriptors first. */
void call_lines_add(struct call_lines *l, uint32_t row, uint32_t utid);
/* Appends the path that the current call is about: its first path, else that of its first
 * descriptor. Returns false if there is none. */
bool call_lines_append_path(struct call_lines *l, struct strbuf *b);
/* Appends the current call as a line, without the thread and the time. */
void call_lines_put(struct call_lines *l, struct strbuf *b);
