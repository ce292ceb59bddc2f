# The ids of runs, after the commands that take them.
_iogauge_runs() {
    _iogauge "$@"
    case "${COMP_WORDS[1]} ${COMP_WORDS[2]}" in
        report\ * | "history show" | "history label" | "history rm" | "history remove" | "history trend" | "history export")
            # The value of an option is no run. The words for it have no option among them.
            [[ $2 || " ${COMPREPLY[*]} " == *" --help "* ]] || return
            local runs
            runs=$("$1" history list 2>/dev/null | sed -n 's/^\([0-9]\{8\}-[0-9]\{6\}-[0-9a-z]*\) .*/\1/p')
            COMPREPLY+=($(compgen -W "last $runs" -- "$2"))
            ;;
    esac
}
complete -F _iogauge_runs -o nosort -o bashdefault -o default iogauge
