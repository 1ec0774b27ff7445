/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include "thread.h"

/*
 * What is kept with a thread as in thread.h, for hooks so hot that its look-up is too dear: most
 * threads have a slot of an array, which takes a few instructions and no call.
 *
 * A thread is identified by the address of its stack, which is its own until it is dead (exec() may give
 * it the pid of another one). Stacks lie 32 KiB apart where they are mapped (VMAP_STACK), from one
 * place on, so they nearly number the threads; elsewhere a few more meet in one slot.
 *
 * The first thread to come to a slot owns it until slot_end(); those that meet it there have what is
 * theirs in thread.h's maps. So nothing is lost but speed. Changes of one thread never happen at the
 * same time (it runs, or the lock of its run queue is held), so only who becomes the owner must be
 * settled between CPUs: who adds its claim and is alone with it. (Kernels before 5.12 have no
 * instruction that compares and exchanges, nor a verifier that skips one.)
 */
#ifdef SONDA_NO_BTF
#define SONDA_SLOTS(value_t) SONDA_THREADS(value_t) /* types have the place of the stack */
#else
#define SONDA_STACK_BITS 15
#define SONDA_SLOTS_MAX 32768 /* a power of two */

/* Another one for tests. */
const volatile __u64 slots_mask SEC(".rodata.slots") = SONDA_SLOTS_MAX - 1;

/* An address is no number that can be cut to 32 bits (6.17), but can lie where a key is read. */
#define SONDA_LOW_HALF (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

#define SONDA_SLOTS(value_t)                                                                       \
	SONDA_THREADS(value_t)                                                                     \
	struct slot {                                                                              \
		__u64 owner; /* a stack; 0: free */                                                \
		__u32 claims;                                                                      \
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
		return s && s->owner == stack ? &s->value : thread_get(t);                         \
	}                                                                                          \
	static __always_inline __attribute__((unused)) value_t *slot_make(struct task_struct *t)   \
	{                                                                                          \
		__u64 stack = (__u64)t->stack;                                                     \
		struct slot *s = slot_of(stack);                                                   \
		value_t *v;                                                                        \
                                                                                                   \
		if (s && s->owner == stack)                                                        \
			return &s->value;                                                          \
		/* What it has elsewhere stays there. */                                           \
		v = thread_get(t);                                                                 \
		if (v)                                                                             \
			return v;                                                                  \
		return s && slot_claim(s, stack) ? &s->value : thread_make(t);                     \
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
