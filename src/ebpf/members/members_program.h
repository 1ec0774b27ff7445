/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "bpf/members.h"

/* The BPF programs of bpf/members.bpf.c. In builds without clang or libbpf
 * members_program_none.c reports that there are none. */
struct members_program;

/* Loads and attaches the programs. On error e has the reason. tracefs_root may be NULL. */
int members_program_new(const char *tracefs_root, struct members_program **ret, struct err_text *e);
void members_program_free(struct members_program *p);

/* Returns the next record of the ring, or NULL. It is valid until members_program_consume(). Its
 * size was checked against its type, and a path has its NUL. */
const void *members_program_peek(struct members_program *p, uint32_t *ret_type);
void members_program_consume(struct members_program *p);
/* Returns how many records found no room in the ring. */
uint64_t members_program_count_lost(struct members_program *p);

/* Returns a descriptor that is readable when a group was made, to be watched edge-triggered.
 * Borrowed; a negative errno if there is none. */
int members_program_watched_fd(const struct members_program *p);

/* Starts an iteration over all threads. Returns a descriptor that the caller closes, or -errno. */
int members_program_open_threads(const struct members_program *p);
