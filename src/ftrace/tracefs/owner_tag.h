/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The process that made something in tracefs and put its number into the name: is it still there?
 * A number alone does not tell, because numbers are given again; the moment of the start does.
 */
struct owner_tag {
	bool lives; /* some process has the number, and has not ended */
	uint64_t start_ticks; /* since boot, in sysconf(_SC_CLK_TCK); 0: it cannot be told */
};

struct owner_tag owner_tag_parse(int pid);
/* The same moment in ns of the wall clock, good to a tick; 0 where it cannot be told. */
uint64_t owner_tag_start_ns(const struct owner_tag *o);

/*
 * Names for what a session makes outside its instance, where all tracers meet (groups of probes,
 * synthetic events): sonda_PID_START_NUMBER, with the process's start in ticks. They are the
 * kernel's identifiers, other tracers do not use them, and nobody has to remember them: what is
 * left behind by a process that was killed can be told from what is in use.
 */
#define OWNER_NAME_SIZE 56 /* the kernel takes 63 characters */

/* A name that was not made before by this process. */
void owner_tag_new(char name[static OWNER_NAME_SIZE]);
/* Is it such a name, or one with _ANYTHING behind it? */
bool owner_tag_is(const char *name);
/* Likewise; and of a process that is gone. */
bool owner_tag_is_stale(const char *name);
