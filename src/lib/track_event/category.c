/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/track_event/category.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <sonda/data_source.h>

#include "gen/fields.h"
#include "lib/public.h"

void (*_Atomic categories_on_change)(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* The list, in the order of the calls. */
static struct sonda_category *first, **end = &first;
static const struct event_config *running[SONDA_MAX_INSTANCES]; /* borrowed; NULL: none */

static const char *category_name_of(const struct sonda_category *c)
{
	return c->texts[0];
}

static bool is_group(const struct sonda_category *c)
{
	return category_name_of(c) && strchr(category_name_of(c), ',');
}

/* ---- the categories of instances ---- */

static const struct sonda_category *category_find(const char *name)
{
	for (const struct sonda_category *c = first; c; c = c->next)
		if (category_name_of(c) && strcmp(category_name_of(c), name) == 0)
			return c;
	return NULL;
}

static bool config_enables_member(const struct event_config *config, const char *name)
{
	const struct sonda_category *c = category_find(name);

	return c ? event_config_enables(config, name, c->texts + 2, SONDA_MAX_TAGS)
		 : event_config_enables_dynamic(config, name);
}

static bool config_enables(const struct event_config *config, const struct sonda_category *c)
{
	if (!category_name_of(c))
		return true;
	if (!is_group(c))
		return event_config_enables(config, category_name_of(c), c->texts + 2,
					    SONDA_MAX_TAGS);
	for (int i = 0; i < c->n_names; i++)
		if (config_enables_member(config, c->names[i].text))
			return true;
	return false;
}

/* Call with lock held. Events read the bits without it. */
static void set_enabled_bit(struct sonda_category *c, unsigned instance, bool on)
{
	uint8_t bit = (uint8_t)(1u << instance);

	__atomic_store_n(&c->enabled, (uint8_t)(on ? c->enabled | bit : c->enabled & (uint8_t)~bit),
			 __ATOMIC_RELAXED);
}

void categories_start(unsigned instance, const struct event_config *config)
{
	pthread_mutex_lock(&lock);
	running[instance] = config;
	for (struct sonda_category *c = first; c; c = c->next)
		set_enabled_bit(c, instance, config_enables(config, c));
	pthread_mutex_unlock(&lock);
}

bool categories_covered(unsigned instance, const struct event_config *config)
{
	bool covered = true;

	pthread_mutex_lock(&lock);
	for (const struct sonda_category *c = first; c && covered; c = c->next)
		covered = !(c->enabled >> instance & 1) || config_enables(config, c);
	pthread_mutex_unlock(&lock);
	return covered;
}

static void category_stop(unsigned instance)
{
	running[instance] = NULL;
	for (struct sonda_category *c = first; c; c = c->next)
		set_enabled_bit(c, instance, false);
}

void categories_stop(unsigned instance)
{
	pthread_mutex_lock(&lock);
	category_stop(instance);
	pthread_mutex_unlock(&lock);
}

void categories_stop_all(void)
{
	for (unsigned i = 0; i < SONDA_MAX_INSTANCES; i++)
		category_stop(i);
}

/* ---- the list ---- */

/* Splits the names of a group of categories. If there is no memory, the group has fewer names. */
static void split_names(struct sonda_category *c)
{
	const char *name = category_name_of(c);

	c->n_names = 0;
	while (name && c->n_names < SONDA_MAX_GROUP) {
		size_t n = strcspn(name, ",");
		struct sonda_string *part = &c->names[c->n_names];

		part->text = strndup(name, n);
		part->id = 0;
		c->n_names += part->text != NULL;
		name = name[n] ? name + n + 1 : NULL;
	}
}

static bool is_listed(const struct sonda_category *category)
{
	for (const struct sonda_category *c = first; c; c = c->next)
		if (c == category)
			return true;
	return false;
}

static void category_add(struct sonda_category *c)
{
	split_names(c);
	c->next = NULL;
	*end = c;
	end = &c->next;
	for (unsigned i = 0; i < SONDA_MAX_INSTANCES; i++)
		set_enabled_bit(c, i, running[i] && config_enables(running[i], c));
}

static void unlink_category(struct sonda_category *category)
{
	struct sonda_category **p = &first;

	while (*p != category)
		p = &(*p)->next;
	*p = category->next;
	if (!*p)
		end = p;
	category->enabled = 0;
	for (int i = 0; i < category->n_names; i++)
		free((char *)category->names[i].text);
	category->n_names = 0;
}

static void notify_change(void)
{
	void (*fn)(void) = atomic_load_explicit(&categories_on_change, memory_order_acquire);

	if (fn)
		fn();
}

SONDA_PUBLIC void sonda_category_add(struct sonda_category *category)
{
	bool added;

	pthread_mutex_lock(&lock);
	added = !is_listed(category);
	if (added)
		category_add(category);
	pthread_mutex_unlock(&lock);
	if (added)
		notify_change();
}

SONDA_PUBLIC void sonda_category_remove(struct sonda_category *category)
{
	bool removed;

	pthread_mutex_lock(&lock);
	removed = is_listed(category);
	if (removed)
		unlink_category(category);
	pthread_mutex_unlock(&lock);
	if (removed)
		notify_change();
}

static void category_describe(struct pb_enc *e, const struct sonda_category *c)
{
	pb_enc_open(e, PB_TRACK_EVENT_DESCRIPTOR_AVAILABLE_CATEGORIES);
	pb_enc_str(e, PB_TRACK_EVENT_CATEGORY_NAME, category_name_of(c));
	if (c->texts[1])
		pb_enc_str(e, PB_TRACK_EVENT_CATEGORY_DESCRIPTION, c->texts[1]);
	for (int i = 0; i < SONDA_MAX_TAGS && c->texts[2 + i]; i++)
		pb_enc_str(e, PB_TRACK_EVENT_CATEGORY_TAGS, c->texts[2 + i]);
	pb_enc_close(e);
}

void categories_describe(struct pb_enc *e)
{
	pthread_mutex_lock(&lock);
	for (const struct sonda_category *c = first; c; c = c->next)
		if (category_name_of(c) && !is_group(c))
			category_describe(e, c);
	pthread_mutex_unlock(&lock);
}

void categories_lock(void)
{
	pthread_mutex_lock(&lock);
}

void categories_unlock(void)
{
	pthread_mutex_unlock(&lock);
}
