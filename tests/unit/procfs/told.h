/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The former names of captured_log.h. */
#include "unit/procfs/captured_log.h"

#define told_begin capture_log
#define told_end captured
#define told_text log_text
