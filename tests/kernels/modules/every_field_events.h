/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* clang-format off */
/* The events of every_field.c, read by the kernel's macros several times. With CHANGED their fields
 * are others. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM sonda_test

#if !defined(EVERY_FIELD_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define EVERY_FIELD_EVENTS_H

#include <linux/tracepoint.h>


#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define SET_STRING(field, value) __assign_str(field)
#define SET_REL_STRING(field, value) __assign_rel_str(field)
#else
#define SET_STRING(field, value) __assign_str(field, value)
#define SET_REL_STRING(field, value) __assign_rel_str(field, value)
#endif

/* As print_events prints bytes. */
#define HEX "%*phN "
#define LIST(field) __get_dynamic_array_len(field), __get_dynamic_array(field)
#define REL_LIST(field) __get_rel_dynamic_array_len(field), __get_rel_dynamic_array(field)

TRACE_DEFINE_ENUM(MODE_SLOW);
TRACE_DEFINE_ENUM(MODE_FAST);

#ifdef CHANGED
TRACE_EVENT(numbers,
	TP_PROTO(const struct numbers *n),
	TP_ARGS(n),
	TP_STRUCT__entry(
		__field(u64, was_u32)
		__field(s16, s8)
	),
	TP_fast_assign(
		__entry->was_u32 = n->u32;
		__entry->s8 = n->s8;
	),
	TP_printk("was_u32=%llu s8=%d", __entry->was_u32, __entry->s8)
);
#else
TRACE_EVENT(numbers,
	TP_PROTO(const struct numbers *n),
	TP_ARGS(n),
	TP_STRUCT__entry(
		__field(s8, s8)
		__field(u8, u8)
		__field(s16, s16)
		__field(u16, u16)
		__field(s32, s32)
		__field(u32, u32)
		__field(s64, s64)
		__field(u64, u64)
		__field(long, slong)
		__field(unsigned long, ulong)
		__field(bool, yes)
		__field(char, letter)
		__field(enum mode, mode)
		__field(unsigned int, flags)
		__field(const void *, pointer)
		__field(void *, function)
		__field(unsigned long, ip)
	),
	TP_fast_assign(
		__entry->s8 = n->s8;
		__entry->u8 = n->u8;
		__entry->s16 = n->s16;
		__entry->u16 = n->u16;
		__entry->s32 = n->s32;
		__entry->u32 = n->u32;
		__entry->s64 = n->s64;
		__entry->u64 = n->u64;
		__entry->slong = n->slong;
		__entry->ulong = n->ulong;
		__entry->yes = n->yes;
		__entry->letter = n->letter;
		__entry->mode = n->mode;
		__entry->flags = n->flags;
		__entry->pointer = n->pointer;
		__entry->function = n->function;
		__entry->ip = n->ip;
	),
	TP_printk("s8=%d u8=%u s16=%d u16=%u s32=%d u32=%u s64=%lld u64=%llu slong=%ld ulong=%lu yes=%d "
		  "letter=%d mode=%u flags=%u pointer=%lu function=%ps ip=%lu (%s %s %pS)",
		  __entry->s8, __entry->u8, __entry->s16, __entry->u16, __entry->s32, __entry->u32,
		  __entry->s64, __entry->u64, __entry->slong, __entry->ulong, __entry->yes,
		  __entry->letter, __entry->mode, __entry->flags, (unsigned long)__entry->pointer,
		  __entry->function, __entry->ip,
		  __print_symbolic(__entry->mode, { MODE_SLOW, "slow" }, { MODE_FAST, "fast" }),
		  __print_flags(__entry->flags, "|", { 1, "one" }, { 2, "two" }),
		  (void *)__entry->ip)
);
#endif

TRACE_EVENT(areas,
	TP_PROTO(const struct areas *a),
	TP_ARGS(a),
	TP_STRUCT__entry(
		__array(u8, uuid, 16)
		__string(text, a->text)
		__array(u32, four, 4)
		__dynamic_array(u8, bytes, a->n)
		__dynamic_array(u16, words, a->n)
		__array(char, name, 16)
		__dynamic_array(u32, longs, a->n)
		__dynamic_array(u64, quads, a->n)
		__rel_string(rel, a->text)
		__rel_dynamic_array(u32, rel_longs, a->n)
		__bitmask(bits, 70)
		__field_struct(struct pair, pair)
		__field(u32, n)
	),
	TP_fast_assign(
		memcpy(__entry->uuid, a->uuid, 16);
		SET_STRING(text, a->text);
		memcpy(__entry->four, a->quads, sizeof(__entry->four));
		memcpy(__get_dynamic_array(bytes), a->quads, a->n);
		memcpy(__get_dynamic_array(words), a->quads, 2 * a->n);
		strscpy_pad(__entry->name, a->text, 16);
		memcpy(__get_dynamic_array(longs), a->quads, 4 * a->n);
		memcpy(__get_dynamic_array(quads), a->quads, 8 * a->n);
		SET_REL_STRING(rel, a->text);
		memcpy(__get_rel_dynamic_array(rel_longs), a->quads, 4 * a->n);
		__assign_bitmask(bits, a->bits, 70);
		__entry->pair = a->pair;
		__entry->n = a->n;
	),
	TP_printk("uuid=%16phN text=\"%s\" four=%16phN bytes=" HEX "words=" HEX "name=\"%s\" longs=" HEX
		  "quads=" HEX "rel=\"%s\" rel_longs=" HEX "bits=" HEX "pair=%4phN n=%u",
		  __entry->uuid, __get_str(text), __entry->four, LIST(bytes), LIST(words),
		  __entry->name, LIST(longs), LIST(quads), __get_rel_str(rel), REL_LIST(rel_longs),
		  LIST(bits), &__entry->pair, __entry->n)
);

#ifdef HAS_CPUMASKS
TRACE_EVENT(masks,
	TP_PROTO(const struct cpumask *cpus),
	TP_ARGS(cpus),
	TP_STRUCT__entry(
		__cpumask(cpus)
		__rel_cpumask(rel_cpus)
	),
	TP_fast_assign(
		__assign_cpumask(cpus, cpumask_bits(cpus));
		__assign_rel_cpumask(rel_cpus, cpumask_bits(cpus));
	),
	TP_printk("cpus=" HEX "rel_cpus=%*phN", LIST(cpus), REL_LIST(rel_cpus))
);
#endif

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE every_field_events
#include <trace/define_trace.h>
