#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/run.sh BUILD      every paired measurement (bench/README.md says what each one is)
set -u
BUILD=$1
export BUILD
here=$(dirname "$0")
"$here/sched_pipe.sh" && "$here/verbose_mix.sh" && "$here/sessions.sh" && "$here/processes.sh" &&
  "$here/sys_stats.sh" && "$here/write_into_file.sh" && "$here/service.sh"
