/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SONDA_CATEGORY_H
#define SONDA_CATEGORY_H

#include <stdint.h>

/*
 * Categories of track events. A program defines each of its categories once, in one C file:
 *
 *	SONDA_CATEGORY_DEFINE(net, "net", "Requests and replies");
 *	SONDA_CATEGORY_DEFINE(net_slow, "net.bytes", "Each buffer that is sent", "slow");
 *
 * Other files use it after SONDA_CATEGORY_DECLARE(net). The first text is the name that a trace
 * config selects, the second a description, then come up to four tags. A name with commas
 * ("net,disk") is a group: events of a group have all its categories, and the group is enabled
 * if one of them is.
 *
 * A category is registered when the program or library that defines it is loaded, and removed when
 * it is unloaded. Categories with the tag "slow" or "debug" are off unless a config enables them.
 */

#ifdef __cplusplus
extern "C" {
#endif

#define SONDA_MAX_TAGS 4
#define SONDA_MAX_GROUP 4 /* names in a group; further ones are ignored */

/* A text that is written once in each sequence; later uses write only its number. The struct and
 * the text must stay valid and unchanged; usually both are static. id belongs to the library;
 * initialise it to 0. */
struct sonda_string {
	const char *text;
	uint32_t id;
	uint32_t reserved;
};

struct sonda_category {
	uint8_t enabled; /* one bit for each running instance; the library sets it */
	uint8_t n_names; /* the library's */
	uint8_t reserved[6];
	const char *texts[2 + SONDA_MAX_TAGS]; /* name, description, tags; NULL: none */
	struct sonda_string names[SONDA_MAX_GROUP]; /* for the library, like the next members */
	struct sonda_category *next;
	void *reserved_pointers[3];
};

/* Adds a category to the list, or removes it. category must stay in memory between the calls. The
 * macros call these functions; other languages call them directly. */
void sonda_category_add(struct sonda_category *category);
void sonda_category_remove(struct sonda_category *category);

#define SONDA_CATEGORY_DECLARE(variable) extern struct sonda_category variable

/* Arguments: variable, name, description, tags. All after the name may be left out. */
#define SONDA_CATEGORY_DEFINE(variable, ...)                                                       \
	extern struct sonda_category variable;                                                     \
	struct sonda_category variable = {0,                                                       \
					  0,                                                       \
					  {0, 0, 0, 0, 0, 0},                                      \
					  {__VA_ARGS__},                                           \
					  {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}},            \
					  0,                                                       \
					  {0, 0, 0}};                                              \
	__attribute__((constructor)) static void sonda_add_##variable(void)                        \
	{                                                                                          \
		sonda_category_add(&variable);                                                     \
	}                                                                                          \
	__attribute__((destructor)) static void sonda_remove_##variable(void)                      \
	{                                                                                          \
		sonda_category_remove(&variable);                                                  \
	}                                                                                          \
	struct sonda_category

/* For events whose category is known only at run time: each event names it with
 * SONDA_IN_CATEGORY(text). */
#define SONDA_DYNAMIC_CATEGORY_DEFINE(variable) SONDA_CATEGORY_DEFINE(variable, 0)

/* Returns the bits of the instances that record this category; 0 is the usual case. */
static inline uint8_t sonda_category_enabled(const struct sonda_category *category)
{
	return __atomic_load_n(&category->enabled, __ATOMIC_RELAXED);
}

#ifdef __cplusplus
}
#endif

#endif
