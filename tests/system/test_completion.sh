#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Completion in bash, zsh and fish: verbs, options of a verb, and the names that sonda gives for this machine, here a sonda
# that answers with fixed names.
. "$(dirname "$0")/../lib.sh"
files=$B/completion
needs_built "$files/sonda.bash"
cat >"$TMP/sonda" <<'SONDA'
#!/bin/sh
case "$1 $2" in
'list events')
  case $3 in
  syscalls:*) printf '[{"kind":"event","name":"syscalls:sys_enter_read"},\n{"kind":"event","name":"syscalls:sys_enter_openat"}]\n' && exit ;;
  esac
  printf '[{"kind":"event","name":"sched:sched_switch"},\n{"kind":"event","name":"irq:softirq_entry"}]\n' ;;
'list presets') printf '[{"kind":"preset","name":"net","title":"Network: packets."},\n{"kind":"preset","name":"io"}]\n' ;;
'list categories') printf '[{"kind":"category","name":"rendering"}]\n' ;;
'report latency') [ "$3 $4" = '--by .' ] && echo 'sonda: report latency does not support --by .; it supports thread, program' >&2 && exit 2 ;;
'doctor --json') echo '{"checks":[{"check":"btf","verdict":"ok"},{"check":"bpf","verdict":"ok"}]}' ;;
'sessions --json') echo '{"tracing_sessions":[{"id":1,"unique_session_name":"flight"},{"id":2,"unique_session_name":"other"}]}' ;;
*) exit 1 ;;
esac
SONDA
chmod +x "$TMP/sonda"
PATH=$TMP:$PATH
sources=$PWD/src/cli
cd "$TMP" && touch here.cfg || exit 2

in_bash() { # WORD...: the last one is completed
  bash --norc -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sonda 2>/dev/null; printf "%s\n" "${COMPREPLY[@]}"' bash \
    "$files/sonda.bash" "$@"
}
in_fish() {
  HOME=$TMP fish --no-config -c 'source $argv[1]; complete -C "$argv[2]"' "$files/sonda.fish" "$*" | cut -f 1
}
# On a terminal, where Tab completes the line and ^G says what is in it.
cat >"$TMP/line.zsh" <<'ZSH'
zmodload zsh/zpty zsh/zselect
line() { # LINE: what is in it then
  local i text
  rm -f line
  zpty -w -n shell "$1"$'\a'
  for ((i = 0; i < 3000; i++)); do
    while zpty -r shell text; do shown+=$text; done
    [[ ! -e line ]] || break
    zselect -t 1
  done
  cat line
}
zpty -b shell zsh -f -i
zpty -w shell "fpath=(${(q)1} \$fpath); autoload -Uz compinit; compinit -u -D"
zpty -w shell 'say() { print -r -- $BUFFER >new && mv new line; BUFFER= }; zle -N say; bindkey ^G say'
line "" >/dev/null
shown=
line "$2"$'\t'
[[ -z $3 ]] || print -r -- $shown
zpty -d shell
ZSH
in_zsh() {
  HOME=$TMP TERM=dumb zsh -f "$TMP/line.zsh" "$files" "$*" | sed 's/[ =]*$//; s/.* //'
}
offers() { # SHELL WANTED WORD...
  local shell=$1 wanted=$2 said
  shift 2
  if ! command -v "$shell" >/dev/null; then
    skip "$shell: '$*' is completed to $wanted" "no $shell here"
    return
  fi
  said=$("in_$shell" "$@")
  grep -qxF -e "$wanted" <<<"$said"
  verdict "$shell: '$*' is completed to $wanted" $? <(echo "$said")
}

for shell in bash fish zsh; do
  offers $shell snapshot sonda sn
  offers $shell --filter sonda record --fi
  offers $shell sched/sched_switch sonda record sched/
  offers $shell irq/softirq_entry sonda record --event irq
  offers $shell net sonda record -P n
  offers $shell rendering sonda record --app rend
  offers $shell flight sonda stop fl
  offers $shell other sonda snapshot ot
  offers $shell here.cfg sonda record -c he
  offers $shell report sonda help rep
  offers $shell latency sonda report lat
  offers $shell here.cfg sonda report he
  offers $shell sched_switch sonda record sched_sw
  offers $shell openat sonda record --syscalls op
  offers $shell read,openat sonda record --syscalls read,op
  offers $shell program sonda report latency --by pro
  offers $shell runq sonda top --sort ru
  offers $shell sched_switch sonda record --cpu-stacks sched_sw
  offers $shell never sonda report --color n
  offers $shell --subbuf sonda record --sub
  offers $shell btf sonda doctor bt
  offers $shell slices sonda export --folded sl
  offers $shell syscalls sonda diff --fail-if sys
  offers $shell here.cfg sonda diff he
  offers $shell here.cfg sonda diff here.cfg he
done
for shell in bash fish; do # zsh completes to what all candidates begin with
  offers $shell $$ sonda record -p ${$%?}
done
for shell in fish zsh; do # bash does it with bash-completion only
  offers $shell here.cfg sonda record sched -- cat her
done
# What fish and zsh show beside a word.
explains() { # SHELL WORD TEXT WORD_OF_LINE...
  local shell=$1 word=$2 text=$3 said
  shift 3
  if ! command -v "$shell" >/dev/null; then
    skip "$shell: $word is explained" "no $shell here"
    return
  fi
  said=$("explain_$shell" "$@")
  grep -q -e "^$word .*$text" <<<"$said"
  verdict "$shell: $word is explained" $? <(echo "$said")
}
explain_fish() {
  HOME=$TMP fish --no-config -c 'source $argv[1]; complete -C "$argv[2]"' "$files/sonda.fish" "$*" | tr '\t' ' '
}
explain_zsh() { # what Tab writes on the terminal
  HOME=$TMP TERM=dumb zsh -f "$TMP/line.zsh" "$files" "$*" shown | tr -d '\r'
}
for shell in fish zsh; do
  explains $shell latency 'how long threads waited for a CPU: p50' sonda report l
  explains $shell net 'Network: packets' sonda record -P ''
  explains $shell --sort 'sort by: pid' sonda top --s
done
# Each long option in the left column of a verb's help, and each one of a table in src/cli, in all shells.
for verb in $("$BIN/sonda" help | awk '/^  [a-z]/ { print $1 }' | grep -vx 'help\|version'); do
  "$BIN/sonda" help "$verb" | sed -n 's/^ \{2,8\}\(-.*\)/\1/p' | sed 's/   *.*//' | grep -oE -- '--[a-z][-a-z0-9]*' | sort -u >"$TMP/wanted"
  in_bash sonda "$verb" -- >"$TMP/bash"
  sed -n "/^  $verb)/,/;;/p" "$files/_sonda" | grep -oE -- "'[*]--[a-z][-a-z0-9]*" | cut -c 3- >"$TMP/zsh"
  sed -n "s/.*__sonda_verb $verb'.* -l \([^ ]*\).*/--\1/p" "$files/sonda.fish" >"$TMP/fish"
  for shell in bash zsh fish; do
    grep -vxF -f "$TMP/$shell" "$TMP/wanted" | sed "s/^/$shell, $verb: /"
  done
done >"$TMP/missing"
[ ! -s "$TMP/missing" ]
verdict "every option in the help of a verb is completed" $? "$TMP/missing"
grep -rhoE '\{"[a-z][-a-z0-9]*", *(no|required|optional)_argument' "$sources" --include='*.c' --exclude-dir=perfetto |
  sed 's/{"\([^"]*\)".*/--\1/' | sort -u | grep -vxF -e --version -f <(grep -oE -- '--[a-z][-a-z0-9]*' "$files/sonda.bash") >"$TMP/missing"
[ ! -s "$TMP/missing" ]
verdict "every option in the tables of src/cli is completed" $? "$TMP/missing"
echo "1..$N"
exit $BAD
