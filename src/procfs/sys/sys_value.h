/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gen/fields.h"
#include "wire/pb_enc.h"

/* Small messages of SysStats. */

_Static_assert(PB_SYS_STATS_MEMINFO_VALUE_KEY == 1 && PB_SYS_STATS_MEMINFO_VALUE_VALUE == 2 &&
		       PB_SYS_STATS_VMSTAT_VALUE_KEY == 1 && PB_SYS_STATS_VMSTAT_VALUE_VALUE == 2 &&
		       PB_SYS_STATS_INTERRUPT_COUNT_IRQ == 1 &&
		       PB_SYS_STATS_INTERRUPT_COUNT_COUNT == 2 &&
		       PB_SYS_STATS_PSI_SAMPLE_RESOURCE == 1 &&
		       PB_SYS_STATS_PSI_SAMPLE_TOTAL_NS == 2,
	       "all these are {1: which, 2: how much}");

/* A message {1: which, 2: how much}: hundreds of them in a packet. */
static inline void sys_value_pair(struct pb_enc *e, uint32_t field, uint64_t which, uint64_t v)
{
	uint8_t buf[2 * (1 + 10)], *p = buf;

	*p++ = (uint8_t)pb_tag(1, PB_WIRE_VARINT);
	p = pb_put_varint(p, which);
	*p++ = (uint8_t)pb_tag(2, PB_WIRE_VARINT);
	p = pb_put_varint(p, v);
	pb_enc_bytes(e, field, buf, (size_t)(p - buf));
}

/* For counter tracks, which have a sign. */
static inline int64_t sys_value_signed(uint64_t v)
{
	return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

/* For fields of 32 bits: the largest instead of what is left of a number that does not fit. */
static inline uint32_t sys_value_u32(uint64_t v)
{
	return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}
