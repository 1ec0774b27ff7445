/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ebpf/engine/family.h"

/* A user program, as a family with one variant: an object file whose maps "sonda_counter_..."
 * become tracks (user_map.h). docs/reference/ebpf-programs.md explains how to write one. */
struct user_program;

#define USER_MAPS_MAX 32u

/* Reads the object file; does not load it into the kernel. Returns 0, or -errno and sets e. */
int user_program_new(const char *dir, const char *name, struct user_program **ret,
		     struct err_text *e);
/* Frees the program, whose run must have ended. No-op for NULL. */
void user_program_free(struct user_program *p);
/* Returns the program as a family, valid until user_program_free(). */
const struct ebpf_family *user_program_family(const struct user_program *p);
