/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sonda/event_args.h>
#include <stdint.h>

/*
 * Process-wide numbers of static texts and source locations. Equal contents have the same number.
 * Each sequence maps the numbers to its own interning ids (event_sequence.h). The contents are
 * copied, so a number stays valid after a library is unloaded. Any thread.
 */

#define STRING_IDS_MAX 65535u /* numbers, in all; they are never freed */

/* Give a text its number, 1..STRING_IDS_MAX. Return 0 if there is none left, or no memory. */
uint32_t string_id_register(struct sonda_string *s);
uint32_t location_id_register(struct sonda_location *l);

/* Relaxed order is enough: no other memory depends on the number. */
static inline uint32_t string_id(struct sonda_string *s)
{
	uint32_t id = __atomic_load_n(&s->id, __ATOMIC_RELAXED);

	return __builtin_expect(id != 0, 1) ? id : string_id_register(s);
}

static inline uint32_t location_id(struct sonda_location *l)
{
	uint32_t id = __atomic_load_n(&l->id, __ATOMIC_RELAXED);

	return __builtin_expect(id != 0, 1) ? id : location_id_register(l);
}

/* Call these around fork(), so that the child gets a consistent table. */
void string_ids_lock(void);
void string_ids_unlock(void);
