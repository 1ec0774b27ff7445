/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "base/core/err.h"
#include "base/text/str.h"

/* `--crash`: what the recorder does with the ring that survives a crash
 * (cli/terminal/crash_ring.h), and the words that the kernel's command line needs for it. */
#define RECORDER_GRUB_FILE "/etc/default/grub.d/sonda-crash.cfg"

/* At the start of the recorder: saves what an earlier boot left in the ring, then arms it. Logs
 * both. ret: "armed" with facts, or why the ring is not armed. Call it while the process has one
 * thread. */
void recorder_crash_start(const char *dir, char *ret, size_t size);
/* For a verb that asks about an earlier boot: saves what it left in the ring, if no recorder has
 * done so since the machine booted. A recorder that has the directory does it itself. Logs what it
 * saved. Call it while the process has one thread. */
void recorder_crash_save(const char *dir);
/* Stops the ring, if it records. Returns 0, or -errno and sets e. */
int recorder_crash_stop(struct err_text *e);

/* Appends the words for the kernel's command line. bytes: of the ring; 0: 4 MiB for each CPU, at
 * least 32 MiB. */
void recorder_crash_put_line(uint64_t bytes, struct strbuf *b);
/* Prints what is left to do until the ring can be armed; nothing if the kernel has made it. grub:
 * after writing the words into RECORDER_GRUB_FILE. Returns 0, or -errno and sets e. */
int recorder_crash_prepare_boot(uint64_t bytes, bool grub, struct err_text *e);
