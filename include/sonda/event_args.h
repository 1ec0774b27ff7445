/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SONDA_EVENT_ARGS_H
#define SONDA_EVENT_ARGS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <sonda/category.h>
#include <sonda/track.h>

/*
 * Arguments of a track event: a list of struct sonda_arg on the caller's stack, which ends with
 * type SONDA_ARG_LIST_END. The macros make the elements; other languages fill in the struct. A
 * dictionary, an array or a message consists of an opening element, its contents, and a closing
 * element.
 *
 *	SONDA_INSTANT(net, "send", SONDA_INT("rc", r), SONDA_TRACK(&track),
 *		      SONDA_DICT("peer", SONDA_STRING("host", host), SONDA_UINT("port", port)));
 *
 * Names of annotations are literals, which are written once in each sequence. Elements of an array
 * have no names: use the *_ITEM macros. Texts are copied during the call; NULL is an empty text.
 */

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers are part of the ABI. */
enum sonda_arg_type {
	SONDA_ARG_LIST_END = 0,
	SONDA_ARG_CLOSE = 1, /* of a dictionary, array or message */
	/* annotations: key is the name */
	SONDA_ARG_BOOL = 2,
	SONDA_ARG_INT = 3,
	SONDA_ARG_UINT = 4,
	SONDA_ARG_DOUBLE = 5,
	SONDA_ARG_STRING = 6,
	SONDA_ARG_POINTER = 7,
	SONDA_ARG_JSON = 8,
	SONDA_ARG_INTERNED = 9, /* value: struct sonda_string */
	SONDA_ARG_DICT = 10,
	SONDA_ARG_ARRAY = 11,
	SONDA_ARG_PROTO = 12, /* an encoded message; the next element is its type's name */
	/* fields of TrackEvent that have no macro, and of messages in it: key.number */
	SONDA_ARG_FIELD_VARINT = 20,
	SONDA_ARG_FIELD_DOUBLE = 21,
	SONDA_ARG_FIELD_BYTES = 22,
	SONDA_ARG_FIELD_FIXED64 = 23,
	SONDA_ARG_FIELD_MESSAGE = 24,
	/* parts of the event; no key */
	SONDA_ARG_TRACK = 40,
	SONDA_ARG_TRACK_UUID = 41,
	SONDA_ARG_TIMESTAMP = 42, /* key.number: id of the clock */
	SONDA_ARG_COUNTER_INT = 43,
	SONDA_ARG_COUNTER_DOUBLE = 44,
	SONDA_ARG_FLOW = 45, /* key.number: 1: id of this process; 0: of the trace */
	SONDA_ARG_FLOW_END = 46,
	SONDA_ARG_CATEGORY = 47,
	SONDA_ARG_NAME = 48,
	SONDA_ARG_LOCATION = 49, /* struct sonda_location */
	SONDA_ARG_LOG = 50, /* text; key.number: priority */
	SONDA_ARG_CORRELATION = 51,
	SONDA_ARG_CORRELATION_TEXT = 52,
	/* extra counters; key.track */
	SONDA_ARG_EXTRA_INT = 53,
	SONDA_ARG_EXTRA_DOUBLE = 54,
};

#define SONDA_LEN_TEXT UINT32_MAX /* len of a text that ends with a 0 byte */

/* A place in the source; static, like struct sonda_string. */
struct sonda_location {
	const char *file;
	const char *function;
	uint32_t line;
	uint32_t id;
};

struct sonda_arg {
	uint8_t type; /* enum sonda_arg_type */
	uint8_t dynamic_key; /* key.text, else key.string */
	uint16_t reserved;
	uint32_t len; /* of bytes at value.p, or SONDA_LEN_TEXT */
	union {
		struct sonda_string *string; /* NULL: no name */
		const char *text;
		const struct sonda_track *track;
		uint64_t number;
	} key;
	union {
		int64_t i;
		uint64_t u;
		double d;
		const void *p;
	} value;
};

enum sonda_log_priority {
	SONDA_LOG_VERBOSE = 2,
	SONDA_LOG_DEBUG = 3,
	SONDA_LOG_INFO = 4,
	SONDA_LOG_WARN = 5,
	SONDA_LOG_ERROR = 6,
	SONDA_LOG_FATAL = 7,
};

/* ---- constructors ---- */

static inline struct sonda_arg sonda_arg_u(enum sonda_arg_type type, struct sonda_string *name,
					   uint64_t value)
{
	struct sonda_arg a;

	a.type = (uint8_t)type;
	a.dynamic_key = 0;
	a.reserved = 0;
	a.len = 0;
	a.key.string = name;
	a.value.u = value;
	return a;
}

static inline struct sonda_arg sonda_arg_d(enum sonda_arg_type type, struct sonda_string *name,
					   double value)
{
	struct sonda_arg a = sonda_arg_u(type, name, 0);

	a.value.d = value;
	return a;
}

static inline struct sonda_arg sonda_arg_p(enum sonda_arg_type type, struct sonda_string *name,
					   const void *value, uint32_t len)
{
	struct sonda_arg a = sonda_arg_u(type, name, 0);

	a.len = len;
	a.value.p = value;
	return a;
}

/* Makes an argument that has a number in place of the name. */
static inline struct sonda_arg sonda_arg_nu(enum sonda_arg_type type, uint64_t number,
					    uint64_t value)
{
	struct sonda_arg a = sonda_arg_u(type, NULL, value);

	a.key.number = number;
	return a;
}

static inline struct sonda_arg sonda_arg_nd(enum sonda_arg_type type, uint64_t number, double value)
{
	struct sonda_arg a = sonda_arg_d(type, NULL, value);

	a.key.number = number;
	return a;
}

static inline struct sonda_arg sonda_arg_np(enum sonda_arg_type type, uint64_t number,
					    const void *value, uint32_t len)
{
	struct sonda_arg a = sonda_arg_p(type, NULL, value, len);

	a.key.number = number;
	return a;
}

/* Makes an argument that has a track in place of the name. */
static inline struct sonda_arg sonda_arg_on_track(struct sonda_arg a,
						  const struct sonda_track *track)
{
	a.key.track = track;
	return a;
}

/* Gives an annotation a name that is not a literal; it is written in full each time. */
static inline struct sonda_arg sonda_arg_named(struct sonda_arg a, const char *name)
{
	a.dynamic_key = 1;
	a.key.text = name;
	return a;
}

static inline struct sonda_arg sonda_arg_end(enum sonda_arg_type type)
{
	return sonda_arg_u(type, NULL, 0);
}

/* ---- annotations ---- */

/* The static struct sonda_string of a literal. */
#define SONDA_STATIC_STRING(literal)                                                               \
	(__extension__({                                                                           \
		static struct sonda_string sonda_string_ = {"" literal, 0, 0};                     \
		&sonda_string_;                                                                    \
	}))
#define SONDA_S_ SONDA_STATIC_STRING

#define SONDA_BOOL(name, v) sonda_arg_u(SONDA_ARG_BOOL, SONDA_S_(name), (v) ? 1 : 0)
#define SONDA_INT(name, v) sonda_arg_u(SONDA_ARG_INT, SONDA_S_(name), (uint64_t)(int64_t)(v))
#define SONDA_UINT(name, v) sonda_arg_u(SONDA_ARG_UINT, SONDA_S_(name), (v))
#define SONDA_DOUBLE(name, v) sonda_arg_d(SONDA_ARG_DOUBLE, SONDA_S_(name), (v))
#define SONDA_STRING(name, v) sonda_arg_p(SONDA_ARG_STRING, SONDA_S_(name), (v), SONDA_LEN_TEXT)
#define SONDA_BYTES(name, v, n) sonda_arg_p(SONDA_ARG_STRING, SONDA_S_(name), (v), (n))
#define SONDA_POINTER(name, v) sonda_arg_u(SONDA_ARG_POINTER, SONDA_S_(name), (uintptr_t)(v))
#define SONDA_JSON(name, v) sonda_arg_p(SONDA_ARG_JSON, SONDA_S_(name), (v), SONDA_LEN_TEXT)
/* The value is also a literal, and is written once in each sequence. */
#define SONDA_INTERNED(name, literal)                                                              \
	sonda_arg_p(SONDA_ARG_INTERNED, SONDA_S_(name), SONDA_S_(literal), 0)
/* An encoded message. type_name: its full name with a leading dot. */
#define SONDA_PROTO(name, type_name, v, n)                                                         \
	sonda_arg_p(SONDA_ARG_PROTO, SONDA_S_(name), (v), (n)),                                    \
		sonda_arg_p(SONDA_ARG_INTERNED, NULL, SONDA_S_(type_name), 0)
#define SONDA_DICT(name, ...)                                                                      \
	sonda_arg_u(SONDA_ARG_DICT, SONDA_S_(name), 0), __VA_ARGS__, sonda_arg_end(SONDA_ARG_CLOSE)
#define SONDA_ARRAY(name, ...)                                                                     \
	sonda_arg_u(SONDA_ARG_ARRAY, SONDA_S_(name), 0), __VA_ARGS__, sonda_arg_end(SONDA_ARG_CLOSE)

#define SONDA_BOOL_ITEM(v) sonda_arg_u(SONDA_ARG_BOOL, NULL, (v) ? 1 : 0)
#define SONDA_INT_ITEM(v) sonda_arg_u(SONDA_ARG_INT, NULL, (uint64_t)(int64_t)(v))
#define SONDA_UINT_ITEM(v) sonda_arg_u(SONDA_ARG_UINT, NULL, (v))
#define SONDA_DOUBLE_ITEM(v) sonda_arg_d(SONDA_ARG_DOUBLE, NULL, (v))
#define SONDA_STRING_ITEM(v) sonda_arg_p(SONDA_ARG_STRING, NULL, (v), SONDA_LEN_TEXT)
#define SONDA_POINTER_ITEM(v) sonda_arg_u(SONDA_ARG_POINTER, NULL, (uintptr_t)(v))
#define SONDA_DICT_ITEM(...)                                                                       \
	sonda_arg_u(SONDA_ARG_DICT, NULL, 0), __VA_ARGS__, sonda_arg_end(SONDA_ARG_CLOSE)
#define SONDA_ARRAY_ITEM(...)                                                                      \
	sonda_arg_u(SONDA_ARG_ARRAY, NULL, 0), __VA_ARGS__, sonda_arg_end(SONDA_ARG_CLOSE)

/* ---- fields of an extension of TrackEvent, by number ---- */

#define SONDA_FIELD_INT(number, v)                                                                 \
	sonda_arg_nu(SONDA_ARG_FIELD_VARINT, (number), (uint64_t)(int64_t)(v))
#define SONDA_FIELD_UINT(number, v) sonda_arg_nu(SONDA_ARG_FIELD_VARINT, (number), (v))
#define SONDA_FIELD_FIXED64(number, v) sonda_arg_nu(SONDA_ARG_FIELD_FIXED64, (number), (v))
#define SONDA_FIELD_DOUBLE(number, v) sonda_arg_nd(SONDA_ARG_FIELD_DOUBLE, (number), (v))
#define SONDA_FIELD_STRING(number, v)                                                              \
	sonda_arg_np(SONDA_ARG_FIELD_BYTES, (number), (v), SONDA_LEN_TEXT)
#define SONDA_FIELD_BYTES(number, v, n) sonda_arg_np(SONDA_ARG_FIELD_BYTES, (number), (v), (n))
#define SONDA_FIELD_MESSAGE(number, ...)                                                           \
	sonda_arg_nu(SONDA_ARG_FIELD_MESSAGE, (number), 0), __VA_ARGS__,                           \
		sonda_arg_end(SONDA_ARG_CLOSE)

/* ---- parts of the event ---- */

/* The event is on this track (struct sonda_track *), not on that of its thread. */
#define SONDA_TRACK(track) sonda_arg_p(SONDA_ARG_TRACK, NULL, (track), 0)
/* A track by its uuid; another event or process writes its descriptor. */
#define SONDA_TRACK_UUID(uuid) sonda_arg_u(SONDA_ARG_TRACK_UUID, NULL, (uuid))

/* The time of the event, in ns of CLOCK_BOOTTIME, or of the clock with this id. */
#define SONDA_CLOCK_MONOTONIC 3
#define SONDA_CLOCK_MONOTONIC_RAW 5
#define SONDA_CLOCK_BOOTTIME 6
#define SONDA_TIMESTAMP(ns) sonda_arg_nu(SONDA_ARG_TIMESTAMP, SONDA_CLOCK_BOOTTIME, (ns))
#define SONDA_TIMESTAMP_OF(clock, ns) sonda_arg_nu(SONDA_ARG_TIMESTAMP, (clock), (ns))

/* Events with the same flow id are connected by arrows; SONDA_FLOW_END is the last of them. Ids
 * belong to the process, those of the GLOBAL variants to the whole trace. */
#define SONDA_FLOW(id) sonda_arg_nu(SONDA_ARG_FLOW, 1, (id))
#define SONDA_FLOW_END(id) sonda_arg_nu(SONDA_ARG_FLOW_END, 1, (id))
#define SONDA_FLOW_GLOBAL(id) sonda_arg_nu(SONDA_ARG_FLOW, 0, (id))
#define SONDA_FLOW_END_GLOBAL(id) sonda_arg_nu(SONDA_ARG_FLOW_END, 0, (id))

/* Groups events without a direction between them. An event has at most one of these two. */
#define SONDA_CORRELATION(id) sonda_arg_u(SONDA_ARG_CORRELATION, NULL, (id))
#define SONDA_CORRELATION_TEXT(text)                                                               \
	sonda_arg_p(SONDA_ARG_CORRELATION_TEXT, NULL, (text), SONDA_LEN_TEXT)

/* A category that is known only at run time, for events of SONDA_DYNAMIC_CATEGORY_DEFINE(). */
#define SONDA_IN_CATEGORY(text) sonda_arg_p(SONDA_ARG_CATEGORY, NULL, (text), SONDA_LEN_TEXT)

/* Values of other counter tracks at the time of the event. At most 8. */
#define SONDA_EXTRA_INT(track, v)                                                                  \
	sonda_arg_on_track(sonda_arg_u(SONDA_ARG_EXTRA_INT, NULL, (uint64_t)(int64_t)(v)), (track))
#define SONDA_EXTRA_DOUBLE(track, v)                                                               \
	sonda_arg_on_track(sonda_arg_d(SONDA_ARG_EXTRA_DOUBLE, NULL, (v)), (track))

/* File, function and line of the macro. */
#define SONDA_HERE()                                                                               \
	sonda_arg_p(SONDA_ARG_LOCATION, NULL, (__extension__({                                     \
			    static struct sonda_location sonda_here_ = {__FILE__, __func__,        \
									__LINE__, 0};              \
			    &sonda_here_;                                                          \
		    })),                                                                           \
		    0)
/* A log message; SONDA_HERE() adds its location. For events on the thread's track. */
#define SONDA_LOG(priority, text) sonda_arg_np(SONDA_ARG_LOG, (priority), (text), SONDA_LEN_TEXT)

#ifdef __cplusplus
}
#endif

#endif
