/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SONDA_TRACK_EVENT_H
#define SONDA_TRACK_EVENT_H

#include <sonda/category.h>
#include <sonda/event_args.h>
#include <sonda/track.h>

/*
 * Track events: slices, instants, counters and states of a program, on the timeline of a trace.
 *
 *	#include <sonda/track_event.h>
 *
 *	SONDA_CATEGORY_DEFINE(net, "net", "Requests");
 *
 *	SONDA_BEGIN(net, "send", SONDA_INT("bytes", n));
 *	...
 *	SONDA_END(net);
 *
 *	SONDA_SCOPE(net, "parse");              until the end of the block
 *	SONDA_INSTANT(net, "timeout");
 *	SONDA_COUNTER(net, &ram, value);        ram: from sonda_track_counter()
 *	SONDA_STATE(net, &link, "connected");   link: from sonda_track_state()
 *
 * Any thread may write events at any time, even before sonda_init(). An event of a category that no
 * session records costs one load and one branch, and its arguments are not evaluated. Callbacks of
 * data sources may write events. An event inside another one (as in an allocator's hook) is
 * dropped. Signal handlers must not write events.
 *
 * Names of events are literals, which are written once in each sequence. The *_DYNAMIC macros
 * accept any text and copy it each time.
 *
 * Other languages call sonda_event() with their own static strings.
 */

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers are part of the ABI and of the trace. */
enum sonda_event_type {
	SONDA_EVENT_BEGIN = 1,
	SONDA_EVENT_END = 2,
	SONDA_EVENT_INSTANT = 3,
	SONDA_EVENT_COUNTER = 4,
	SONDA_EVENT_STATE = 5,
};

/* Writes an event into each session that records the category. name may be NULL; args end with
 * SONDA_ARG_LIST_END. An argument list that breaks the rules of event_args.h loses arguments. */
void sonda_event(struct sonda_category *category, enum sonda_event_type type,
		 struct sonda_string *name, const struct sonda_arg *args);
/* Like sonda_event(), but with a name that is not interned. */
void sonda_event_dynamic(struct sonda_category *category, enum sonda_event_type type,
			 const char *name, const struct sonda_arg *args);

/* ---- macros ---- */

#define SONDA_FIRST_(...) SONDA_FIRST_OF_(__VA_ARGS__, 0)
#define SONDA_FIRST_OF_(first, ...) first
#define SONDA_REST_(first, ...) __VA_ARGS__
#define SONDA_LIST_END_ sonda_arg_end(SONDA_ARG_LIST_END)

#define SONDA_BEGIN(category, ...)                                                                 \
	SONDA_EVENT_(category, SONDA_EVENT_BEGIN, SONDA_FIRST_(__VA_ARGS__, 0),                    \
		     SONDA_REST_(__VA_ARGS__, SONDA_LIST_END_))
#define SONDA_INSTANT(category, ...)                                                               \
	SONDA_EVENT_(category, SONDA_EVENT_INSTANT, SONDA_FIRST_(__VA_ARGS__, 0),                  \
		     SONDA_REST_(__VA_ARGS__, SONDA_LIST_END_))
/* category, and arguments, which are added to those of SONDA_BEGIN() */
#define SONDA_END(...)                                                                             \
	SONDA_UNNAMED_(SONDA_FIRST_(__VA_ARGS__, 0), SONDA_EVENT_END,                              \
		       SONDA_REST_(__VA_ARGS__, SONDA_LIST_END_))

#define SONDA_BEGIN_DYNAMIC(category, ...)                                                         \
	SONDA_DYNAMIC_(category, SONDA_EVENT_BEGIN, SONDA_FIRST_(__VA_ARGS__, 0),                  \
		       SONDA_REST_(__VA_ARGS__, SONDA_LIST_END_))
#define SONDA_INSTANT_DYNAMIC(category, ...)                                                       \
	SONDA_DYNAMIC_(category, SONDA_EVENT_INSTANT, SONDA_FIRST_(__VA_ARGS__, 0),                \
		       SONDA_REST_(__VA_ARGS__, SONDA_LIST_END_))

/* The value of a counter track: an integer, or a floating-point number. */
#define SONDA_COUNTER(category, track, v)                                                          \
	SONDA_UNNAMED_(category, SONDA_EVENT_COUNTER, SONDA_TRACK(track),                          \
		       sonda_arg_u(SONDA_ARG_COUNTER_INT, NULL, (uint64_t)(int64_t)(v)),           \
		       SONDA_LIST_END_)
#define SONDA_COUNTER_DOUBLE(category, track, v)                                                   \
	SONDA_UNNAMED_(category, SONDA_EVENT_COUNTER, SONDA_TRACK(track),                          \
		       sonda_arg_d(SONDA_ARG_COUNTER_DOUBLE, NULL, (v)), SONDA_LIST_END_)

/* Sets the state of a state track from now on: a name, which is a literal for SONDA_STATE(), and
 * arguments. An event with the state that the track already has adds its arguments to that state.
 * SONDA_STATE_END() ends the state; the track then has none. Writing a state twice is harmless, so
 * several threads may write the states of one track. */
#define SONDA_STATE(category, track, ...)                                                          \
	SONDA_EVENT_(category, SONDA_EVENT_STATE, SONDA_FIRST_(__VA_ARGS__, 0),                    \
		     SONDA_TRACK(track), SONDA_REST_(__VA_ARGS__, SONDA_LIST_END_))
#define SONDA_STATE_DYNAMIC(category, track, ...)                                                  \
	SONDA_DYNAMIC_(category, SONDA_EVENT_STATE, SONDA_FIRST_(__VA_ARGS__, 0),                  \
		       SONDA_TRACK(track), SONDA_REST_(__VA_ARGS__, SONDA_LIST_END_))
#define SONDA_STATE_END(category, track)                                                           \
	SONDA_UNNAMED_(category, SONDA_EVENT_STATE, SONDA_TRACK(track), SONDA_LIST_END_)

/* A slice from here to the end of the enclosing block. It is on the thread's track, so it must have
 * no track argument. */
#define SONDA_SCOPE(category, ...)                                                                 \
	struct sonda_category *SONDA_SCOPE_NAME_(__LINE__)                                         \
		__attribute__((cleanup(sonda_scope_end_))) =                                       \
			sonda_category_enabled(&(category)) ? &(category) : NULL;                  \
	if (SONDA_SCOPE_NAME_(__LINE__))                                                           \
	SONDA_BEGIN(category, __VA_ARGS__)

#define SONDA_SCOPE_NAME_(line) SONDA_SCOPE_NAME_2_(line)
#define SONDA_SCOPE_NAME_2_(line) sonda_scope_##line

#define SONDA_IF_(category) if (__builtin_expect(sonda_category_enabled(&(category)) != 0, 0))

#define SONDA_EVENT_(category, type, name, ...)                                                    \
	do {                                                                                       \
		SONDA_IF_(category)                                                                \
		{                                                                                  \
			static struct sonda_string sonda_name_ = {"" name, 0, 0};                  \
			const struct sonda_arg sonda_args_[] = {__VA_ARGS__};                      \
			sonda_event(&(category), type, &sonda_name_, sonda_args_);                 \
		}                                                                                  \
	} while (0)
#define SONDA_UNNAMED_(category, type, ...)                                                        \
	do {                                                                                       \
		SONDA_IF_(category)                                                                \
		{                                                                                  \
			const struct sonda_arg sonda_args_[] = {__VA_ARGS__};                      \
			sonda_event(&(category), type, NULL, sonda_args_);                         \
		}                                                                                  \
	} while (0)
#define SONDA_DYNAMIC_(category, type, name, ...)                                                  \
	do {                                                                                       \
		SONDA_IF_(category)                                                                \
		{                                                                                  \
			const struct sonda_arg sonda_args_[] = {__VA_ARGS__};                      \
			sonda_event_dynamic(&(category), type, (name), sonda_args_);               \
		}                                                                                  \
	} while (0)

static inline void sonda_scope_end_(struct sonda_category **category)
{
	if (*category && sonda_category_enabled(*category))
		sonda_event(*category, SONDA_EVENT_END, NULL, NULL);
}

#ifdef __cplusplus
}
#endif

#endif
