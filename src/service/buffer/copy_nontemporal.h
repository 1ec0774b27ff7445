/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * memcpy with non-temporal stores, for a destination that is not cached and not read soon: whole
 * cache lines are written without reading them first. If the destination is cached, or is read
 * soon, it is several times slower than memcpy. It is fastest if dst begins and ends at a multiple
 * of COPY_CACHE_LINE; src should be cached.
 *
 * The calling thread sees the bytes as after memcpy. Another thread sees them only after a later
 * locked instruction (a lock, an atomic exchange) or system call of the calling thread.
 */
#define COPY_CACHE_LINE 64u

void copy_nontemporal(uint8_t *dst, const uint8_t *src, size_t len);
/* Returns true if this CPU has such stores; otherwise copy_nontemporal() is memcpy. */
bool copy_nontemporal_is_supported(void);
