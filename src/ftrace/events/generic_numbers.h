/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/*
 * The fields of FtraceEvent that events without a message of their own take. A trace may hold the
 * records of several sources of this process, and a number stands for one event in all of it; so
 * numbers are given out for the whole process. The same event gets the same number.
 */
#define GENERIC_NUMBER_FIRST 65536u
#define GENERIC_NUMBERS 65536u

/* The number of an event by its shape, a hash of all that its descriptor says. 0; -ENOSPC: so many
 * are in use; -ENOMEM. */
int generic_number_take(uint64_t shape, uint32_t *ret);
/* Once for each take, when the records with that number are all out. It is not given to another
 * event before all others have had their turn. */
void generic_number_give(uint32_t number);
