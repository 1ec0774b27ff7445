/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "cli/recorder/recorder_triggers.h"
#include "config/trace_config.pb-c.h"

/*
 * The parsed command line of `sonda recorder`. Strings are borrowed from argv, or from the file of
 * --args, which is owned.
 */

#define RECORDER_DEFAULT_WORD "recorder" /* the preset */
#define RECORDER_DEFAULT_KEEP_MS (3600u * 1000)
#define RECORDER_DEFAULT_BYTES (2ull << 30)
#define RECORDER_DEFAULT_BEFORE_MS (300u * 1000)
#define RECORDER_DEFAULT_PAUSE_MS (60u * 1000)
#define RECORDER_DEFAULT_SNAPSHOTS 20
#define RECORDER_MIN_BYTES (16ull << 20)
#define RECORDER_CRASH_MIN_BYTES (4ull << 20)
#define RECORDER_CRASH_MAX_BYTES (4ull << 30)
#define RECORDER_DEFAULT_KERNEL_BYTES (64ull << 20)
#define RECORDER_DEFAULT_KERNEL_WORD "sched" /* the preset of --in-kernel */
#define RECORDER_SESSION_NAME "recorder" /* unique_session_name */

enum recorder_action { RECORDER_ENABLE, RECORDER_STATUS, RECORDER_DISABLE, RECORDER_RUN };

/* The command line of sonda recorder. Texts are borrowed from argv or args, or constant. */
struct recorder_options {
	bool help;
	enum recorder_action action;
	const char *dir;
	uint64_t max_bytes; /* of the ring on disk; 0 before the check: --size was not given */
	bool in_kernel; /* --in-kernel: events stay in rings of the kernel */
	uint64_t kernel_bytes; /* of these rings, of all CPUs together; 0 without --in-kernel */
	uint32_t keep_ms; /* older parts are removed */
	uint32_t part_ms; /* length of a part */
	struct recorder_triggers triggers; /* --on */
	uint32_t before_ms; /* how much of the ring a trigger saves */
	uint32_t pause_ms; /* between two snapshots of the same trigger */
	uint32_t max_snapshots;
	const char *alerts; /* --alerts: a socket; NULL: none */
	bool crash; /* also arms the ring that survives a crash (recorder_crash.h) */
	uint64_t crash_bytes; /* to reserve for that ring; 0: the default */
	bool grub; /* enable: writes the kernel's command line for GRUB */
	bool remove; /* disable: also removes the ring */
	bool json;
	char **words; /* borrowed from argv; n_words 0: the default */
	size_t n_words;
	char *args_text, **args; /* owned: of --args */
};

extern const char recorder_usage[];

/* Returns 0 (the caller frees with recorder_options_deinit), or -errno and sets e. */
int recorder_options_parse(int argc, char **argv, struct recorder_options *ret, struct err_text *e);
void recorder_options_deinit(struct recorder_options *o);

/* Returns the word that is recorded if there are none. */
const char *recorder_options_default_word(const struct recorder_options *o);
/* Return the maximum number of parts of the ring, and the maximum bytes of each. A ring of this
 * many parts has at most the requested size. It covers the requested age if its data needs at most
 * 70 % of that size, even if most arrive in a few minutes. A ring of less than 120 MiB has fewer
 * parts, and covers less if the data arrive unevenly. */
uint32_t recorder_options_parts(const struct recorder_options *o);
uint64_t recorder_options_part_bytes(const struct recorder_options *o);

/* Checks the words, and makes the config of the session, without its output_path. The caller frees
 * *ret with pb__trace_config__free_unpacked(). Returns 0, -EINVAL or -errno, and sets e. */
int recorder_config_build(const struct recorder_options *o, Pb__TraceConfig **ret,
			  struct err_text *e);
