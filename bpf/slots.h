/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include "thread.h"

/*
 * Per-thread data as in thread.h, for the hottest hooks. Most threads have a slot of an array,
 * found with a few instructions and no call.
 *
 * The address of its stack identifies a thread until its end, while exec() may change its pid. The
 * address also selects the slot: mapped stacks (VMAP_STACK) are 32 KiB apart in one region, so few
 * threads collide. Without VMAP_STACK more of them collide.
 *
 * The first thread at a slot owns it until slot_end(). Other threads at that slot use the maps of
 * thread.h, which are slower; the slot records that there has been one, so that a thread without
 * data is recognised without a look-up in the maps. Data of one thread never changes on two CPUs at
 * the same time: the thread runs, or the lock of its run queue is held. Only the ownership of a
 * free slot is contended: a thread adds a claim, and becomes the owner if its claim is the only
 * one. (Kernels before 5.12 have no compare-and-exchange instruction for BPF.)
 */
#ifdef SONDA_NO_BTF
/* Without BTF the address of the stack is unknown. */
#define SONDA_SLOTS(value_t) SONDA_THREADS(value_t)
#else
#define SONDA_STACK_BITS 15
#define SONDA_SLOTS_MAX 32768 /* a power of two */

/* Selects a slot. Tests set a smaller mask. */
const volatile __u64 slots_mask SEC(".rodata.slots") = SONDA_SLOTS_MAX - 1;

/* Index of the lower half of a u64. The verifier of 6.17 rejects the truncation of an address to 32
 * bits; it accepts the read of a key from the lower half. */
#define SONDA_LOW_HALF (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

#define SONDA_SLOTS(value_t)                                                                       \
	SONDA_THREADS(value_t)                                                                     \
	struct slot {                                                                              \
		__u64 owner; /* a stack; 0: free */                                                \
		__u32 claims;                                                                      \
		__u32 has_others; /* threads whose data is in the maps of thread.h */              \
		value_t value;                                                                     \
	};                                                                                         \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(max_entries, SONDA_SLOTS_MAX);                                              \
		__type(key, __u32);                                                                \
		__type(value, struct slot);                                                        \
	} slots SEC(".maps");                                                                      \
	static __always_inline struct slot *slot_of(__u64 stack)                                   \
	{                                                                                          \
		__u64 i = (stack >> SONDA_STACK_BITS) & slots_mask;                                \
                                                                                                   \
		return bpf_map_lookup_elem(&slots, (__u32 *)&i + SONDA_LOW_HALF);                  \
	}                                                                                          \
	static __always_inline int slot_claim(struct slot *s, __u64 stack)                         \
	{                                                                                          \
		const value_t none = {};                                                           \
                                                                                                   \
		if (s->owner)                                                                      \
			return 0;                                                                  \
		__sync_fetch_and_add(&s->claims, 1);                                               \
		if (s->claims != 1 || s->owner) {                                                  \
			__sync_fetch_and_add(&s->claims, -1);                                      \
			return 0;                                                                  \
		}                                                                                  \
		s->value = none;                                                                   \
		s->owner = stack;                                                                  \
		return 1;                                                                          \
	}                                                                                          \
	static __always_inline __attribute__((unused)) value_t *slot_get(struct task_struct *t)    \
	{                                                                                          \
		__u64 stack = (__u64)t->stack;                                                     \
		struct slot *s = slot_of(stack);                                                   \
                                                                                                   \
		if (s && s->owner == stack)                                                        \
			return &s->value;                                                          \
		return s && !s->has_others ? NULL : thread_get(t);                                 \
	}                                                                                          \
	/* Like slot_get(), by stack and pid; NULL if the data is in task storage. */              \
	static __always_inline __attribute__((unused)) value_t *slot_find(__u64 stack, __u32 pid)  \
	{                                                                                          \
		struct slot *s = slot_of(stack);                                                   \
                                                                                                   \
		if (s && s->owner == stack)                                                        \
			return &s->value;                                                          \
		return settings.switches & SONDA_TASK_STORAGE ? NULL : thread_get_by_pid(pid);     \
	}                                                                                          \
	static __always_inline __attribute__((unused)) value_t *slot_make(struct task_struct *t)   \
	{                                                                                          \
		__u64 stack = (__u64)t->stack;                                                     \
		struct slot *s = slot_of(stack);                                                   \
		value_t *v;                                                                        \
                                                                                                   \
		if (s && s->owner == stack)                                                        \
			return &s->value;                                                          \
		/* Data in the maps of thread.h stays there. */                                    \
		v = s && !s->has_others ? NULL : thread_get(t);                                    \
		if (v)                                                                             \
			return v;                                                                  \
		if (s && slot_claim(s, stack))                                                     \
			return &s->value;                                                          \
		if (s)                                                                             \
			s->has_others = 1;                                                         \
		return thread_make(t);                                                             \
	}                                                                                          \
	static __always_inline __attribute__((unused)) void slot_end(struct task_struct *t)        \
	{                                                                                          \
		__u64 stack = (__u64)t->stack;                                                     \
		struct slot *s = slot_of(stack);                                                   \
                                                                                                   \
		if (!s || s->owner != stack) {                                                     \
			thread_end(t);                                                             \
			return;                                                                    \
		}                                                                                  \
		s->owner = 0;                                                                      \
		__sync_fetch_and_add(&s->claims, -1);                                              \
	}
#endif
