/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ebpf/engine/family.h"

/*
 * A program of somebody's own, as a family with one variant: the object of a file, whose maps by the
 * names "sonda_counter_..." become tracks (program_map.h). docs/ebpf-programs.md is for who writes
 * one.
 */
struct user_program;

#define USER_MAPS_MAX 32u

/* Reads the file (program_file.h); it is not in the kernel yet. 0 or -errno, with a sentence. */
int user_program_new(const char *folder, const char *name, struct user_program **ret,
		     struct err_text *e);
/* NULL is fine; its run has ended. */
void user_program_free(struct user_program *p);
/* Valid until then. */
const struct ebpf_family *user_program_family(const struct user_program *p);
