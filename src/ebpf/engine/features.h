/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/text/str.h"
#include "bpf/settings.h"

/*
 * Selects the first program variant that the running kernel supports. A family lists its variants
 * best first. Each variant is an object of bpf/ with its requirements:
 *
 *	tp_btf        arguments typed by BTF: fields of structs by CO-RE
 *	raw_tp        arguments as numbers, for programs that read no field of the kernel's structs
 *	tp            the record of the event, with field offsets from its format file
 *	iter          no tracepoint: an iterator, which the reader runs
 *
 * Kprobes are not used: their functions are not a stable interface. The features are callbacks, so
 * that tests can describe any kernel.
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
	int min_args, max_args; /* number of arguments of a tracepoint, inclusive */
	unsigned slot; /* index in sonda_settings.fields */
};

/* Requires BTF, and a tracepoint with that number of arguments. */
#define NEED_TP_BTF(tracepoint, min, max)                                                          \
	{                                                                                          \
		.kind = EBPF_TP_BTF, .name = (tracepoint), .min_args = (min), .max_args = (max)    \
	}
/* Requires a raw tracepoint. It exists if the event "group/name" of tracefs exists. The field shows
 * that its arguments are the expected ones. If there is BTF, the number of arguments must match
 * too. */
#define NEED_RAW_TP(event, field, min, max)                                                        \
	{                                                                                          \
		.kind = EBPF_RAW_TP, .name = (event), .member = (field), .min_args = (min),        \
		.max_args = (max)                                                                  \
	}
/* Requires the event "group/name" with the field, for a program of a classic tracepoint. */
#define NEED_EVENT(event, field)                                                                   \
	{                                                                                          \
		.kind = EBPF_EVENT, .name = (event), .member = (field)                             \
	}
/* Like NEED_EVENT; the offset of the field is stored in the slot. */
#define NEED_FIELD(event, field, at)                                                               \
	{                                                                                          \
		.kind = EBPF_FIELD, .name = (event), .member = (field), .slot = (at)               \
	}
/* Like NEED_FIELD, but optional: if the kernel lacks the field, the slot has size 0. */
#define MAY_FIELD(event, field, at)                                                                \
	{                                                                                          \
		.kind = EBPF_MAY_FIELD, .name = (event), .member = (field), .slot = (at)           \
	}
/* Requires that struct type has the field. */
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
	bool is_foreign; /* user program: it may lack settings and periods */
	const unsigned char *begin, *end;
};

struct ebpf_variant {
	const char *name; /* "tp_btf" */
	struct ebpf_image image;
	const struct ebpf_need *needs; /* terminated by NEED_END */
};

struct ebpf_features {
	/* Returns the number of arguments, without the context that BTF adds; -ENOENT: no such
	 * tracepoint; -EOPNOTSUPP: no BTF. */
	int (*count_args)(void *ctx, const char *tracepoint);
	/* Finds the offset of a field in the record of event "group/name"; returns 0 or -ENOENT. */
	int (*find_field)(void *ctx, const char *event, const char *field, struct sonda_field *ret);
	/* Finds the group of an event; a name may already be "group/name". ret: "group/name".
	 * Returns 0, or -ENOENT, also if it does not fit. */
	int (*find_event)(void *ctx, const char *event, char *ret, size_t size);
	/* Appends the format file of event "group/name". Returns 0 or -errno. */
	int (*read_format)(void *ctx, const char *event, struct strbuf *b);
	bool (*has_member)(void *ctx, const char *type, const char *member);
	bool (*has_map_type)(void *ctx, int type); /* enum bpf_map_type */
	/* Calls fn for each enumerator of the enum; never if the enum does not exist. */
	void (*each_enumerator)(void *ctx, const char *type,
				void (*fn)(void *arg, const char *name, int64_t value), void *arg);
	/* Calls fn for each symbolic name that the format file has for a value of the field. */
	void (*each_symbol)(void *ctx, const char *event, const char *field,
			    void (*fn)(void *arg, const char *name, int64_t value), void *arg);
	void *ctx;
};

/* Returns the index of the first supported variant at or after variants[first], or -ENOENT; then
 * why lists what each variant lacks. */
int ebpf_choose_variant(const struct ebpf_features *f, const struct ebpf_variant *variants, int n,
			int first, struct err_text *why);
bool ebpf_has_field(const struct ebpf_features *f, const char *event, const char *field);

/* Parses the number after the word of a line of a format file, such as "\toffset:" in
 * "field:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;". Returns false if there is none below
 * 65536. */
bool ebpf_format_line_number(const char *line, const char *word, uint16_t *ret);

/* Fills in the slots of the fields that the variant requires or may use; fields has SONDA_FIELDS
 * elements. Slots of fields that the kernel lacks stay as they are. */
void ebpf_find_fields(const struct ebpf_features *f, const struct ebpf_variant *variant,
		      struct sonda_field *fields);

/* Sets *ret to the features of the running kernel; free them with ebpf_features_free().
 * tracefs_root may be NULL. Returns 0 or -ENOMEM. */
int ebpf_features_new(const char *tracefs_root, struct ebpf_features *ret);
void ebpf_features_free(struct ebpf_features *f);
