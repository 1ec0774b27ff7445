#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: tools/manual/completion.sh PROGRAMS TO
#
# Writes the completion of sonda for bash, zsh and fish into TO: sonda.bash, _sonda, sonda.fish. Verbs, options and what an
# option takes come from --help; the names of this machine (events, presets, sessions ...) are asked for when they are
# completed.
set -eu
cd "$(dirname "$0")/../.."
programs=$1 to=$2
. tools/manual/lib.sh

rm -rf "$to"
mkdir -p "$to"
# One line an option: verb, long name, short name, what it takes, explanation; one a verb: "verb", name, -, -, what it is;
# one for what may stand without an option: verb, "words", -, what, -; one for each fixed word: verb, "word", -, it, what.
{
  for verb in $(verbs_of "$programs"); do
    printf 'verb\t%s\t-\t-\t%s\n' "$verb" "$(what_is "$programs" "$verb")"
    rows_of "$programs" sonda "$verb" | awk -v verb="$verb" -f tools/manual/completion_rows.awk
  done
} >"$to/table"
for shell in bash zsh fish; do
  case $shell in bash) file=sonda.bash ;; zsh) file=_sonda ;; fish) file=sonda.fish ;; esac
  awk -v shell=$shell -f tools/manual/completion.awk tools/manual/completion_names.sh "$to/table" >"$to/$file"
done
rm "$to/table"
