/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One number for all programs of this tree; each prints it behind its own name. */
#define SONDA_VERSION "0.1"
