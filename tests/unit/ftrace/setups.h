/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>

#include "config/text.h"
#include "ftrace/options/setup.h"
#include "unit/ftrace/fake_tracefs.h"
#include "unit/ftrace/formats.h"

/* The setting up of one session in a directory that stands in for tracefs: its instance is
 * instances/x, its config a text. */
static struct setup_errors errors;
static struct instance instance;
static struct setup setup;
static Pb__FtraceConfig *setup_config;

static inline void setup_end(void)
{
	if (setup_config)
		pb__ftrace_config__free_unpacked(setup_config, NULL);
	if (instance.tracefs)
		fake_instance_free(&instance);
	setup_config = NULL;
	setup_errors_deinit(&errors);
}

static inline void setup_remove(void)
{
	setup_end();
	fake_root_remove();
}

static inline int setup_teardown(void **state)
{
	setup_remove();
	return 0;
}

/* A test that needs the directory and a setup_begin(). */
#define SETUP_TEST(name) TEST_WITH(name, fake_root_setup, setup_teardown)

/* Again and again, for other configs in the same directory. */
static inline const struct setup *setup_begin(const char *config)
{
	struct strbuf syntax = {0};

	setup_end();
	assert(!text_parse(&pb__ftrace_config__descriptor, "", config, strlen(config), &syntax,
			   (ProtobufCMessage **)&setup_config));
	fake_text("instances/x/tracing_on", "0");
	instance = fake_instance();
	setup = (struct setup){
		.root = fake_root,
		.session_id = 1,
		.config = setup_config,
		.instance = &instance,
		.errors = &errors,
	};
	return &setup;
}

/* "group/name" among the kernel's events, and in the instance; what it refuses as the text says. */
static inline void fake_event(const char *event)
{
	static const char *const files[] = {"filter", "trigger", "enable"};

	fake_put("x", "events/%s/format", event);
	for (unsigned i = 0; i < ARRAY_SIZE(files); i++)
		fake_put("", "instances/x/events/%s/%s", event, files[i]);
}

/* The same with a format, of the common fields and these. */
static inline void fake_formatted_event(const char *event, unsigned id, const char *fields)
{
	const char *name = strchr(event, '/') + 1;

	fake_event(event);
	fake_put(format_text(name, id, FORMAT_COMMON, fields), "instances/x/events/%s/format",
		 event);
}

/* One of its files that refuses all that is written to it, with EISDIR. */
static inline void fake_refusal(const char *file)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/instances/x/%s", fake_root, file);
	unlink(path);
	assert(!mkdir(path, 0755));
}

/* What was written to one of the instance's files. */
static inline const char *fake_written(const char *file)
{
	char name[256];

	snprintf(name, sizeof(name), "instances/x/%s", file);
	return fake_read(name);
}

static inline int n_failed(void)
{
	return tracefs_list_size(errors.failed);
}
