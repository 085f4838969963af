# bash completion of lacuna, written by `lacuna help --completion bash`
_lacuna() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
  local path=lacuna words='' files='' list='' head='' i
  COMPREPLY=()
  # --option=value comes as three words.
  if [ "$cur" = = ]; then cur=''; elif [ "$prev" = = ]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path ${COMP_WORDS[i]}" in
@cases@  fi
  if [ -n "$list" ] && [ "$cur" != "${cur%,*}" ]; then head=${cur%,*}, cur=${cur##*,}; fi
  mapfile -t COMPREPLY < <(compgen -P "$head" -W "$words" -- "$cur"
    [ -n "$files" ] && compgen "-$files" -P "$head" -- "$cur")
  [ -n "$files" ] && compopt -o filenames 2>/dev/null
  case "${COMPREPLY[*]}" in *[:=]) compopt -o nospace 2>/dev/null ;; esac
  return 0
}
complete -F _lacuna lacuna
