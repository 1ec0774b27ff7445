/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "bpf/settings.h"

/*
 * Which of several programs a kernel can run. A family has a ladder of them, best first; each variant
 * is an object of bpf/ with the list of what it needs of the kernel:
 *
 *	tp_btf        arguments typed by BTF: fields of structs by CO-RE
 *	raw_tp        arguments as numbers, where no field of a struct is wanted
 *	tp            the event's record, with fields where its format file says
 *
 * Never kprobes: what they hook is nobody's promise. The facts are functions, so that tests can tell
 * of any kernel.
 */

enum ebpf_need_kind {
	EBPF_END,
	EBPF_TP_BTF,
	EBPF_RAW_TP,
	EBPF_EVENT,
	EBPF_FIELD,
	EBPF_MAY_FIELD,
	EBPF_MEMBER
};

struct ebpf_need {
	enum ebpf_need_kind kind;
	const char *name, *member;
	int min_args, max_args; /* of a tracepoint, inclusive */
	unsigned slot; /* of sonda_settings.fields */
};

/* BTF, and the tracepoint in it with so many arguments. */
#define NEED_TP_BTF(tracepoint, min, max)                                                          \
	{                                                                                          \
		.kind = EBPF_TP_BTF, .name = (tracepoint), .min_args = (min), .max_args = (max)    \
	}
/* A raw tracepoint is there where the event "group/name" of tracefs is, and its arguments are what the
 * event's fields are made of: the field tells that they are. With BTF there must be so many. */
#define NEED_RAW_TP(event, field, min, max)                                                        \
	{                                                                                          \
		.kind = EBPF_RAW_TP, .name = (event), .member = (field), .min_args = (min),        \
		.max_args = (max)                                                                  \
	}
/* The event "group/name" with the field, for a program of a classic tracepoint. */
#define NEED_EVENT(event, field)                                                                   \
	{                                                                                          \
		.kind = EBPF_EVENT, .name = (event), .member = (field)                             \
	}
/* The same, and where the field is goes to that slot. */
#define NEED_FIELD(event, field, at)                                                               \
	{                                                                                          \
		.kind = EBPF_FIELD, .name = (event), .member = (field), .slot = (at)               \
	}
/* Where a kernel does not have it, the slot has a size of 0. */
#define MAY_FIELD(event, field, at)                                                                \
	{                                                                                          \
		.kind = EBPF_MAY_FIELD, .name = (event), .member = (field), .slot = (at)           \
	}
/* struct type has the field. */
#define NEED_MEMBER(type, field)                                                                   \
	{                                                                                          \
		.kind = EBPF_MEMBER, .name = (type), .member = (field)                             \
	}
#define NEED_END                                                                                   \
	{                                                                                          \
		.kind = EBPF_END                                                                   \
	}

struct ebpf_image {
	const char *name; /* NAME of bpf/NAME.bpf.c */
	bool is_foreign; /* of a file: it may be without settings and periods */
	const unsigned char *begin, *end;
};

struct ebpf_variant {
	const char *name; /* "tp_btf" */
	struct ebpf_image image;
	const struct ebpf_need *needs; /* until NEED_END */
};

struct ebpf_features {
	/* Without the context that BTF gives each; -ENOENT: no such tracepoint; -EOPNOTSUPP: no
	 * BTF. */
	int (*count_args)(void *ctx, const char *tracepoint);
	/* Where the event's record has it, or -ENOENT; event is "group/name". */
	int (*find_field)(void *ctx, const char *event, const char *field, struct sonda_field *ret);
	bool (*has_member)(void *ctx, const char *type, const char *member);
	bool (*has_map_type)(void *ctx, int type); /* enum bpf_map_type */
	/* Calls fn for each name of the enum, and its value; not at all where there is no such one. */
	void (*each_enumerator)(void *ctx, const char *type,
				void (*fn)(void *arg, const char *name, int64_t value), void *arg);
	/* The same for names that the event's format has for values of the field. */
	void (*each_symbol)(void *ctx, const char *event, const char *field,
			    void (*fn)(void *arg, const char *name, int64_t value), void *arg);
	void *ctx;
};

/* The first variant from variants[first] on that this kernel has all of: its index. -ENOENT: none, and why
 * has what each lacks. */
int ebpf_choose_variant(const struct ebpf_features *f, const struct ebpf_variant *variants, int n,
			int first, struct err_text *why);
bool ebpf_has_field(const struct ebpf_features *f, const char *event, const char *field);
/* Those that the variant names, to their slots of fields, which has SONDA_FIELDS. */
void ebpf_find_fields(const struct ebpf_features *f, const struct ebpf_variant *variant,
		      struct sonda_field *fields);
