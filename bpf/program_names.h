/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include <linux/types.h>

/* Names of programs in settings, each with NULs up to its size. */
#define PROGRAM_NAMES_MAX 8
#define PROGRAM_NAME_SIZE 16 /* as the name of a thread */
