# The ids of runs, for the commands that take them.
_iogauge_runs() {
    local -a runs
    runs=(last ${(f)"$(_call_program runs iogauge history list 2>/dev/null | sed -n 's/^\([0-9]\{8\}-[0-9]\{6\}-[0-9a-z]*\) .*/\1/p')"})
    compadd -V runs -a runs
}

